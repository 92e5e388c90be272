// The counterset "Thermal Zone Information", from /sys/class/thermal.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_THERMAL_ZONE_INFORMATION_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_THERMAL_ZONE_INFORMATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/optional_file.h"
#include "agent/source/linux/periodic.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class ThermalZoneInformation : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds sys: "" on a real machine.
  explicit ThermalZoneInformation(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Zone {
    std::string utf16_name;
    uint32_t number = 0;
    OptionalFile temperature;
  };

  void List();

  const std::string root_;
  Periodic list_{/*seconds=*/60};
  std::vector<Zone> zones_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_THERMAL_ZONE_INFORMATION_H_
