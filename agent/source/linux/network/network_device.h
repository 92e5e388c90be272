// A network interface as /sys/class/net shows it.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_NETWORK_DEVICE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_NETWORK_DEVICE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// Reads each attribute at most every ten seconds: a file per attribute is too
// expensive for every tick of a machine with many interfaces.
// Thread-compatible.
class NetworkDevice {
 public:
  enum Attribute : size_t {
    kIndex,             // the kernel's number of the interface
    kSpeed,             // bits per second; absent if the link has none
    kFullDuplex,        // 1 or 0
    kLinkUp,            // 1 or 0; 0 if the interface is switched off
    kOperationalState,  // the kernel's IF_OPER_*
    kLinkChanges,
    kLinkDowns,
    kNoHandler,  // packets received without a receiver
    kMissed,     // packets for which the adapter had no buffer
    kCrcErrors,
    kNumAttributes
  };

  // `root` is the directory that holds sys: "" on a real machine.
  NetworkDevice(const std::string& root, absl::string_view name);

  // Returns std::nullopt if the kernel or the interface does not have the
  // attribute.
  std::optional<uint64_t> Read(Attribute attribute,
                               const perflib::Clocks& clocks);

 private:
  struct Reading {
    std::optional<int64_t> read_at;  // PerfTimeStamp
    std::optional<uint64_t> value;
  };

  std::string directory_;
  std::array<Reading, kNumAttributes> readings_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_NETWORK_DEVICE_H_
