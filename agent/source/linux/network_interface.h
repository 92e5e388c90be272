// The counterset "Network Interface", from /proc/net/dev: the interfaces of the
// agent's network namespace.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_INTERFACE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_INTERFACE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class NetworkInterface : public Provider {
 public:
  // `root` is the directory that holds proc and sys: "" on a real machine.
  explicit NetworkInterface(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Interface {
    std::string utf16_name;
    uint32_t index = 0;
    // Values of the last pass.
    uint64_t received_packets = 0;
    uint64_t unicast_packets = 0;
    uint64_t bytes = 0;
    uint64_t bits_per_second = 0;
    int64_t speed_read_at = 0;  // PerfTimeStamp
    uint64_t pass = 0;          // the last pass that saw it
  };

  // Returns the interface called `name`, given its current counters.
  Interface& GetInterface(absl::string_view name, uint64_t received_packets,
                          uint64_t bytes);
  uint32_t ReadIndex(absl::string_view name);
  void ReadSpeed(const std::string& name, const perflib::Clocks& clocks,
                 Interface& interface);

  const std::string root_;
  ProcFile dev_;
  std::string buffer_;
  std::string small_buffer_;
  absl::flat_hash_map<std::string, Interface> interfaces_;
  uint64_t pass_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_INTERFACE_H_
