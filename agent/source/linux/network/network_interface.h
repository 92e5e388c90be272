// The countersets "Network Interface" and "Network Adapter", from /proc/net/dev
// and /sys/class/net: the interfaces of the agent's network namespace.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_NETWORK_INTERFACE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_NETWORK_INTERFACE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/network/network_device.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class NetworkInterface : public Provider {
 public:
  static const LinuxCounterset kCounterset;
  // Windows distinguishes adapters from the interfaces that TCP/IP uses. Linux
  // does not, so the two countersets have the same contents.
  static const LinuxCounterset kAdapterCounterset;

  // `root` is the directory that holds proc and sys: "" on a real machine.
  // `selection` is what both countersets share; null: nothing.
  explicit NetworkInterface(
      const std::string& root, const LinuxCounterset& counterset = kCounterset,
      std::shared_ptr<SharedSelection> selection = nullptr);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // The fields of a line of /proc/net/dev after the name, in its order.
  enum Field {
    kReceivedBytes,
    kReceivedPackets,
    kReceivedErrors,
    kReceivedDropped,
    kReceivedFifo,
    kReceivedFrame,
    kReceivedCompressed,
    kReceivedMulticast,
    kSentBytes,
    kSentPackets,
    kSentErrors,
    kSentDropped,
    kSentFifo,
    kCollisions,
    kSentCarrier,
    kSentCompressed,
    kNumFields
  };
  using Fields = std::array<std::optional<uint64_t>, kNumFields>;

  struct Interface {
    NetworkDevice device;
    uint32_t index;
    std::string utf16_name;
    // Values of the last pass.
    uint64_t received_packets = 0;
    uint64_t unicast_packets = 0;
    uint64_t bytes = 0;
    uint64_t pass = 0;  // the last pass that saw it
  };

  static Fields ParseFields(absl::string_view text);
  void AddInterface(absl::string_view name, const Fields& fields,
                    ColumnSet needed, const perflib::Clocks& clocks,
                    CountersetSample* sample);
  // Returns the interface called `name`, given its current counters.
  Interface& GetInterface(absl::string_view name, const Fields& fields,
                          const perflib::Clocks& clocks);
  static bool IsReplaced(Interface& interface, const Fields& fields,
                         const perflib::Clocks& clocks);
  static void AddCounts(const Interface& interface, const Fields& fields,
                        CountersetSample* sample);
  static void AddLink(ColumnSet needed, const perflib::Clocks& clocks,
                      NetworkDevice& device, CountersetSample* sample);

  const std::string root_;
  ProcFile dev_;
  std::string buffer_;
  absl::flat_hash_map<std::string, Interface> interfaces_;
  uint64_t pass_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_NETWORK_INTERFACE_H_
