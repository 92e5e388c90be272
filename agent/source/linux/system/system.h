// The counterset "System": the machine as a whole, from /proc/stat,
// /proc/loadavg, /proc/uptime, /proc/sys/fs, /sys/devices/system/cpu and the
// kernel's clock discipline.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_SYSTEM_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_SYSTEM_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/process/process_reader.h"
#include "agent/source/linux/processor/processor_count.h"
#include "agent/source/linux/system/clock_discipline.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class System : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  using ReadClock = std::function<std::optional<ClockDiscipline>()>;

  // `root` is the directory that holds proc and sys: "" on a real machine.
  System(const std::string& root, std::shared_ptr<ProcessReader> processes,
         ReadClock read_clock);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  void ReadStat(CountersetSample* sample);
  void ReadLoadAverage(CountersetSample* sample);
  void ReadUptime(CountersetSample* sample);
  void CountProcesses(const perflib::Clocks& clocks, CountersetSample* sample);
  void ReadFiles(CountersetSample* sample);
  void ReadInodes(CountersetSample* sample);
  void ReadDirectoryEntries(CountersetSample* sample);
  void CountProcessors(const perflib::Clocks& clocks, CountersetSample* sample);
  void AddClock(CountersetSample* sample);

  const std::shared_ptr<ProcessReader> processes_;
  ProcFile stat_;
  ProcFile load_average_;
  ProcFile uptime_;
  ProcFile file_nr_;
  ProcFile inode_nr_;
  ProcFile dentry_state_;
  const ReadClock read_clock_;
  ProcessorCount processors_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SYSTEM_SYSTEM_H_
