// The counterset "Linux Hardware Monitor": the sensors of /sys/class/hwmon.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_LINUX_HARDWARE_MONITOR_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_LINUX_HARDWARE_MONITOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/optional_file.h"
#include "agent/source/linux/periodic.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxHardwareMonitor : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds sys: "" on a real machine.
  explicit LinuxHardwareMonitor(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Sensor {
    std::string utf16_name;
    uint32_t id = 0;
    size_t column = 0;
    OptionalFile file;
    // Of temperatures. They do not change.
    std::optional<uint64_t> maximum = {};
    std::optional<uint64_t> critical = {};
  };

  void List();
  void ListChip(const std::string& directory, const std::string& chip_name,
                uint32_t chip);

  const std::string root_;
  Periodic list_{/*seconds=*/60};
  std::vector<Sensor> sensors_;
  uint64_t left_out_ = 0;  // sensors beyond the limit
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_LINUX_HARDWARE_MONITOR_H_
