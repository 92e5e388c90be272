// The registers of a CPU that the core changes, as they were before.

#ifndef FLEETPERF_DRIVER_PMU_SAVED_REGISTERS_H_
#define FLEETPERF_DRIVER_PMU_SAVED_REGISTERS_H_

#include <stdint.h>

#include "driver/pmu/cpu_features.h"
#include "driver/pmu/msr_access.h"

namespace fleetperf::pmu {

struct SavedRegisters {
  bool user_reads = false;
  uint64_t select[kMaxGeneralCounters] = {};
  uint64_t counter[kMaxGeneralCounters] = {};
  uint64_t others = 0;  // all further selections, joined by OR
  uint64_t fixed_control = 0;
  uint64_t fixed[kMaxFixedCounters] = {};
  uint64_t global_control = 0;
};

// Of the CPU that executes the functions. Each returns false if the CPU refused
// an access.
bool SaveRegisters(const MsrAccess& msrs, const CpuFeatures& cpu,
                   SavedRegisters* saved);

// Stops all counters that the core may have started, and clears their overflow
// bits. Continues if the CPU refuses an access.
bool StopCounters(const MsrAccess& msrs, const CpuFeatures& cpu);

// Stops the counters and restores all registers. Continues if the CPU refuses
// an access. Without full-width writes a general counter's bits above 31 become
// copies of bit 31, unless the counter still has its saved value.
bool RestoreRegisters(const MsrAccess& msrs, const CpuFeatures& cpu,
                      const SavedRegisters& saved);

// Whether a counter has its enable bits set.
bool HasEnabledCounters(const SavedRegisters& saved);

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_SAVED_REGISTERS_H_
