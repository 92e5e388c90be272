// The counterset "Process V2": one instance "name:pid" per process, from
// /proc/PID/stat, status, io and fd.
//
// Kernel threads are summed in the instance "kthreadd:2", as Windows does in
// "System": they are numerous, and their names change constantly.
//
// Invariants:
// - The totals identify a process by its pid and start time, because pids are
//   reused.
// - At most max_open_files_ stat files stay open between passes.
// - The io values of other users' processes are absent without CAP_SYS_PTRACE.
// - Sample() removes processes that the current pass did not see.
// - `_Total` has the processor time of processes that no pass saw, as far as
//   ReapedChildren finds it.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_V2_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_V2_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/reaped_children.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

class ProcessV2 : public Provider {
 public:
  // `root` is the directory that holds proc: "" on a real machine. At most
  // `max_open_files` files stay open from tick to tick. Further files are
  // opened on every read, which is slower.
  ProcessV2(const std::string& root, size_t max_open_files);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Process {
    explicit Process(std::string stat_path)
        : stat(std::move(stat_path), ProcFile::Kind::kSmall) {}
    ProcFile stat;
    std::string name;
    std::string utf16_name;
    uint64_t pass = 0;  // the last pass that saw it
  };

  // The used fields of a line of /proc/PID/stat.
  struct Stat {
    absl::string_view name;
    uint64_t parent = 0;
    uint64_t flags = 0;
    uint64_t page_faults = 0;
    uint64_t user_jiffies = 0;
    uint64_t system_jiffies = 0;
    uint64_t children_user_jiffies = 0;
    uint64_t children_system_jiffies = 0;
    uint64_t priority = 0;
    uint64_t threads = 0;
    uint64_t start_jiffies = 0;
    uint64_t virtual_bytes = 0;
    uint64_t resident_pages = 0;

    bool IsKernelThread() const;
  };

  static bool ParseStat(absl::string_view text, Stat* stat);
  // Reads the stat line of process `pid`. Returns false if the process is gone
  // or cannot be read.
  bool ReadStat(uint32_t pid, Stat* stat, Process** process);
  void AddProcess(uint32_t pid, const Stat& stat, ColumnSet needed,
                  CountersetSample* sample);
  void AddToReapedChildren(uint32_t pid, const Stat& stat);
  // Adds the time of ended processes to the totals.
  void AddReapedChildren();
  void ReadStatus(uint32_t pid, CountersetSample* sample);
  void ReadIo(uint32_t pid, CountersetSample* sample);
  void CountHandles(uint32_t pid, CountersetSample* sample);
  std::string PathOf(uint32_t pid, absl::string_view file) const;

  const std::string root_;
  const size_t max_open_files_;
  const uint64_t page_size_;
  ProcFile uptime_;
  std::string buffer_;
  std::vector<uint32_t> pids_;
  absl::flat_hash_map<uint32_t, Process> processes_;
  size_t open_files_ = 0;
  CountersetSample kernel_threads_;
  Totals kernel_totals_;
  Totals totals_;
  ReapedChildren reaped_children_;
  ProcessTimes reaped_jiffies_;  // since the start
  uint64_t pass_ = 0;
  const std::string utf16_kernel_name_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_V2_H_
