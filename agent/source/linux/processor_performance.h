// How fast the processors work, by the cycles that they count for it: APERF at
// their actual frequency and MPERF at their nominal one while they do not idle,
// and TSC at the nominal one all the time.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PERFORMANCE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PERFORMANCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "agent/source/provider.h"
#include "driver/perf_event/cpu_counts.h"
#include "driver/perf_event/system.h"

namespace fleetperf::agent {

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

  // Sets the values of a CPU in the last row of `sample`, after Update.
  void SetValues(uint32_t cpu, CountersetSample* sample) const;

 private:
  perf_event::System& system_;
  const size_t max_descriptors_;
  std::optional<perf_event::CpuCounts> counts_;
  bool has_counts_ = false;  // of the last update
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PERFORMANCE_H_
