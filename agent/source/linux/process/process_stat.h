// A line of /proc/PID/stat, or of /proc/PID/task/TID/stat.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_STAT_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_STAT_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// The used fields. Times are in jiffies.
struct ProcessStat {
  absl::string_view name;  // at most 15 bytes; a view of the line
  char state = '?';
  uint64_t parent = 0;
  uint64_t flags = 0;
  uint64_t minor_faults = 0;
  uint64_t children_minor_faults = 0;  // of children that were waited for
  uint64_t major_faults = 0;
  uint64_t children_major_faults = 0;
  uint64_t user = 0;
  uint64_t system = 0;
  uint64_t children_user = 0;
  uint64_t children_system = 0;
  uint64_t priority = 0;  // 0 for real-time threads, which have negative ones
  uint64_t threads = 0;
  uint64_t start = 0;  // since the machine's start
  uint64_t virtual_bytes = 0;
  uint64_t resident_pages = 0;

  bool IsKernelThread() const;
};

// Returns false if the line has no name or state, or lacks a used field.
bool ParseProcessStat(absl::string_view line, ProcessStat* stat);

// Pids are reused. The pid and start time together identify a process.
uint64_t ProcessIdentity(uint32_t pid, const ProcessStat& stat);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_STAT_H_
