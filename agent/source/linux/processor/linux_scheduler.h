// The counterset "Linux Scheduler", from /proc/schedstat: how long threads run,
// and wait to run, on each CPU.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_LINUX_SCHEDULER_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_LINUX_SCHEDULER_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

class LinuxScheduler : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc: "" on a real machine.
  explicit LinuxScheduler(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  ProcFile schedstat_;
  std::string buffer_;
  std::map<uint32_t, std::string> utf16_names_;  // by CPU
  Totals totals_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_LINUX_SCHEDULER_H_
