// Starts and reads the counters of a CPU.

#ifndef FLEETPERF_DRIVER_PMU_COUNTING_H_
#define FLEETPERF_DRIVER_PMU_COUNTING_H_

#include <stdint.h>

#include "driver/pmu/cpu_features.h"
#include "driver/pmu/machine.h"
#include "driver/pmu/msr_access.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::pmu {

// The registers that count, as they were read last.
struct RawCounts {
  uint64_t general[kMaxGeneralCounters] = {};
  uint64_t fixed[kMaxFixedCounters] = {};
  uint64_t actual_performance = 0;
  uint64_t maximum_performance = 0;
  uint64_t package_energy = 0;
  uint64_t memory_energy = 0;
};

// Of the CPU that executes the functions, which has the counters and the events
// of `program`. Each returns false if the CPU refused an access.

// Stops all counters, then starts those of `program` from 0, with the last
// write all at once where the CPU can. Permits user reads, or forbids them.
// `start` receives the registers' values at the start.
bool StartCounters(const MsrAccess& msrs, const CpuFeatures& cpu,
                   const CoreProgram& program, bool user_reads,
                   RawCounts* start);

// Adds what the CPU has counted since `last` to `totals`.
bool UpdateCounts(Machine& machine, const CpuFeatures& cpu,
                  const CoreProgram& program, RawCounts* last,
                  CpuCounts* totals);

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_COUNTING_H_
