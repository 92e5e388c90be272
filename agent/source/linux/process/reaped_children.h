// The processor time, and other counts, of ended processes after the last pass
// that saw them.
//
// The counts of a process are gone once it has ended. If its parent waits for
// it, the kernel adds them, with the counts of the children that it has waited
// for, to the parent's counts of children. The growth of these, without the
// counts of processes that passes have seen, is missing elsewhere.
//
// Invariants:
// - Nothing is counted twice, also if a process ends during a pass. Where the
//   order of events is unknown, it is left out.
// - The counts of a process whose parent ignores SIGCHLD, or is not visible,
//   are known only as far as passes have seen them.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_REAPED_CHILDREN_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_REAPED_CHILDREN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"

namespace fleetperf::agent {

// The caller chooses the counts, the same for all processes.
using ProcessCounts = std::array<uint64_t, 6>;

ProcessCounts& operator+=(ProcessCounts& counts, const ProcessCounts& other);

// Thread-compatible.
class ReapedChildren {
 public:
  struct Process {
    uint64_t identity = 0;  // differs if the pid is reused
    uint32_t parent = 0;    // its pid
    // Those of the process, unless they are part of those of the children.
    ProcessCounts own = {};
    ProcessCounts children = {};  // that the process has waited for
  };

  // One pass: Begin, Add for every process in the order of reading, Finish.
  void Begin() { ++pass_; }
  void Add(uint32_t pid, const Process& process);
  // Returns the missing counts since the last pass. `has_ended` returns whether
  // a process of this pass has ended since.
  ProcessCounts Finish(absl::FunctionRef<bool(uint32_t pid)> has_ended);

 private:
  struct Known {
    Process process;
    uint64_t first_pass = 0;
    uint64_t last_pass = 0;
    uint64_t order = 0;         // of reading
    ProcessCounts growth = {};  // of the children's counts in this pass
    ProcessCounts ended = {};   // children that ended in this pass
    // Ended in the last pass, but not yet in the children's counts.
    ProcessCounts awaited = {};
  };

  // Removes processes that ended after they were read and may be in the
  // children's counts of parents read later.
  void CheckReadBeforeParents(absl::FunctionRef<bool(uint32_t pid)> has_ended);
  // Assigns the processes that ended to their parents and removes them. Returns
  // the counts of those whose parents have ended too.
  ProcessCounts RemoveEnded();

  uint64_t pass_ = 0;
  uint64_t reads_ = 0;
  absl::flat_hash_map<uint32_t, Known> processes_;  // by pid
  std::vector<Process> ended_;                      // in this pass
  // Of processes that ended with their parents. Any process may have waited for
  // them.
  ProcessCounts awaited_orphans_ = {};
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_REAPED_CHILDREN_H_
