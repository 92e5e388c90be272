// The counterset "System": the machine as a whole, from /proc/stat,
// /proc/loadavg and /proc/uptime.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_H_

#include <string>

#include "absl/status/status.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class System : public Provider {
 public:
  // `root` is the directory that holds proc: "" on a real machine.
  explicit System(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  absl::Status ReadStat(CountersetSample* sample);
  absl::Status ReadLoadAverage(CountersetSample* sample);
  absl::Status ReadUptime(CountersetSample* sample);
  absl::Status CountProcesses(CountersetSample* sample);

  const std::string root_;
  ProcFile stat_;
  ProcFile load_average_;
  ProcFile uptime_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_H_
