// The processor time that ended processes used after the last pass that saw
// them.
//
// The times of a process are gone once it has ended. If its parent waits for
// it, the kernel adds them, with the times of the children that it has waited
// for, to the parent's times of children. So the growth of these, without the
// times of processes that passes have seen, is the missing time.
//
// Invariants:
// - No time is counted twice, also if a process ends during a pass. Where the
//   order of events is unknown, time is left out.
// - The time of a process whose parent ignores SIGCHLD, or is not visible, is
//   counted only as far as passes have seen it.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_REAPED_CHILDREN_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_REAPED_CHILDREN_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"

namespace fleetperf::agent {

// In any unit.
struct ProcessTimes {
  uint64_t user = 0;
  uint64_t system = 0;

  ProcessTimes& operator+=(const ProcessTimes& other);
};

// Thread-compatible.
class ReapedChildren {
 public:
  struct Process {
    uint64_t identity = 0;  // differs if the pid is reused
    uint32_t parent = 0;    // its pid
    ProcessTimes own;
    ProcessTimes children;  // of children that the process has waited for
  };

  // One pass: Begin, Add for every process in the order of reading, Finish.
  void Begin() { ++pass_; }
  void Add(uint32_t pid, const Process& process);
  // Returns the missing time since the last pass. `has_ended` returns whether a
  // process of this pass has ended since.
  ProcessTimes Finish(absl::FunctionRef<bool(uint32_t pid)> has_ended);

 private:
  struct Known {
    Process process;
    uint64_t first_pass = 0;
    uint64_t last_pass = 0;
    uint64_t order = 0;   // of reading
    ProcessTimes growth;  // of the children's times in this pass
    ProcessTimes ended;   // children that ended in this pass
    // Ended in the last pass, but not yet in the children's times.
    ProcessTimes awaited;
  };

  // Removes processes that ended after they were read and may be in the
  // children's times of parents read later.
  void CheckReadBeforeParents(absl::FunctionRef<bool(uint32_t pid)> has_ended);
  // Assigns the processes that ended to their parents and removes them. Returns
  // the times of those whose parents have ended too.
  ProcessTimes RemoveEnded();

  uint64_t pass_ = 0;
  uint64_t reads_ = 0;
  absl::flat_hash_map<uint32_t, Known> processes_;  // by pid
  std::vector<Process> ended_;                      // in this pass
  // Of processes that ended with their parents. Any process may have waited for
  // them.
  ProcessTimes awaited_orphans_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_REAPED_CHILDREN_H_
