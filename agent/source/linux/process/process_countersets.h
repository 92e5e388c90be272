// The countersets of processes, from /proc/PID: the same counters under three
// kinds of names.
//
// Kernel threads are summed in one instance, "kthreadd", as Windows does in
// "System": they are numerous, and their names change constantly.
//
// Invariants:
// - The totals identify a process by its pid and start time, because pids are
//   reused.
// - The processor time and page faults in `_Total` are those of all other
//   instances: the instance "ended" has the use by processes after the last
//   pass that saw them, as far as ReapedChildren finds it.
// - Values that need a right which the agent lacks are absent.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_COUNTERSETS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_COUNTERSETS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/process/process_reader.h"
#include "agent/source/linux/process/process_values.h"
#include "agent/source/linux/process/reaped_children.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

class ProcessCounterset : public Provider {
 public:
  DefinedCounters DefineCounters(std::vector<PlannedQuery>* queries) override;
  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 protected:
  // `root` is the directory that holds proc: "" on a real machine.
  ProcessCounterset(const LinuxCounterset& counterset, ProcessNaming naming,
                    const std::string& root,
                    std::shared_ptr<ProcessReader> reader);

 private:
  void AddProcess(uint32_t pid, const perflib::Clocks& clocks,
                  CountersetSample* sample);
  void AddToReapedChildren(const ProcessReader::Process& process,
                           const ProcessStat& stat,
                           const CountersetSample& sample);
  void AddKernelThreads(CountersetSample* sample);
  void AddEnded(CountersetSample* sample);
  void AddTotal(CountersetSample* sample);
  // `start` is the time between the start of the machine and the process, in
  // units of 100 ns.
  void SetElapsedTime(uint64_t start, CountersetSample* sample) const;
  bool NeedsIo() const;

  const ProcessNaming naming_;
  const std::shared_ptr<ProcessReader> reader_;
  ProcessValues values_;
  ProcFile uptime_file_;
  std::string buffer_;
  ColumnSet named_ = 0;  // expensive columns that the plan names
  // Of the current pass.
  ColumnSet needed_ = 0;
  std::optional<uint64_t> uptime_;
  bool has_io_ = false;  // whether that of any process can be read
  CountersetSample kernel_threads_;

  Totals kernel_totals_;
  Totals totals_;
  ReapedChildren reaped_children_;
  ReapedChildren reaped_io_;
  // Since the start.
  ProcessCounts ended_ = {};
  ProcessCounts total_io_ = {};
  const std::string utf16_kernel_name_;
  const std::string utf16_ended_name_;
  const std::string utf16_total_name_;
};

// Instances "nginx:812".
class ProcessV2 : public ProcessCounterset {
 public:
  static const LinuxCounterset kCounterset;
  ProcessV2(const std::string& root, std::shared_ptr<ProcessReader> reader);
};

// Instances "nginx", with the pid as their id: the counterset of PerfLib V1.
class Process : public ProcessCounterset {
 public:
  static const LinuxCounterset kCounterset;
  Process(const std::string& root, std::shared_ptr<ProcessReader> reader);
};

// Instances "/system.slice/nginx.service/nginx:812".
class CgroupProcess : public ProcessCounterset {
 public:
  static const LinuxCounterset kCounterset;
  CgroupProcess(const std::string& root, std::shared_ptr<ProcessReader> reader);
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_COUNTERSETS_H_
