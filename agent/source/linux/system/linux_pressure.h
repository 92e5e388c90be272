// The counterset "Linux Pressure": pressure stall information, from
// /proc/pressure.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_LINUX_PRESSURE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_LINUX_PRESSURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/optional_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxPressure : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc: "" on a real machine.
  explicit LinuxPressure(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Resource {
    std::string utf16_name;
    OptionalFile file;
  };

  std::vector<Resource> resources_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_LINUX_PRESSURE_H_
