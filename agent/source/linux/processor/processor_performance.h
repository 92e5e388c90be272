// How fast the processors work, by the cycles that they count for it: APERF at
// their actual frequency and MPERF at their nominal one while they do not idle,
// and TSC at the nominal one all the time.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_PERFORMANCE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_PERFORMANCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/status/status.h"
#include "agent/source/provider.h"
#include "driver/perf_event/cpu_counts.h"
#include "driver/perf_event/system.h"

namespace fleetperf::agent {

// The cycles that a CPU worked in the kernel.
//
// The registers APERF and MPERF count in the kernel and in programs together.
// So of the cycles between two updates, the kernel gets the part that its time
// has of the busy time, as if both had run at one frequency.
class PrivilegedCycles {
 public:
  // Takes a CPU's cycles, its time in the kernel and its busy time, of which
  // the latter is a part, in one unit. All have only grown since the last call;
  // if one fell, the growth is unknown and left out. Cycles without busy time
  // (it is counted in steps) are divided with the next ones. Returns the cycles
  // in the kernel since the first call.
  uint64_t Update(uint64_t cycles, uint64_t privileged, uint64_t busy);

 private:
  struct Last {
    uint64_t cycles;
    uint64_t privileged;
    uint64_t busy;
  };

  std::optional<Last> last_;
  uint64_t total_ = 0;
};

// PermissionDenied, with the remedy, if the machine counts the cycles but the
// process may not read the counts.
absl::Status CheckCycleRights(perf_event::System& system);

// Needs x86, a machine that is not virtual, and CAP_PERFMON or
// perf_event_paranoid below 1. Without them, the values stay absent.
// Thread-compatible.
class ProcessorPerformance {
 public:
  // Opens nothing: Update does. Three descriptors for each CPU are needed.
  ProcessorPerformance(perf_event::System& system, size_t max_descriptors)
      : system_(system), max_descriptors_(max_descriptors) {}

  // Reads the counts of all CPUs. Costs an interrupt of each other CPU.
  void Update();

  // Why the counts that the machine has are absent, after Update:
  // ResourceExhausted if the descriptors do not suffice.
  absl::Status missing() const;

  // Sets the values of a CPU in the last row of `sample`, after Update. The
  // times are those that it has spent in the kernel and on all work.
  void SetValues(uint32_t cpu, uint64_t privileged_time, uint64_t busy_time,
                 CountersetSample* sample);

 private:
  perf_event::System& system_;
  const size_t max_descriptors_;
  std::optional<perf_event::CpuCounts> counts_;
  std::map<uint32_t, PrivilegedCycles> privileged_;  // by CPU
  bool has_counts_ = false;                          // of the last update
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_PERFORMANCE_H_
