// What a CPU can count, from CPUID and from registers that tell capabilities.

#ifndef FLEETPERF_DRIVER_PMU_CPU_FEATURES_H_
#define FLEETPERF_DRIVER_PMU_CPU_FEATURES_H_

#include <stdint.h>

#include "driver/pmu/machine.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::pmu {

struct CpuIdentity {
  Vendor vendor = Vendor::kOther;
  uint32_t family = 0;
  uint32_t model = 0;
  uint32_t stepping = 0;
};

struct CpuFeatures {
  CpuIdentity identity;
  CpuDescription description;  // without is_online
  uint64_t tsc_hz = 0;         // 0: unknown
  uint32_t energy_unit = 0;
  uint32_t memory_energy_unit = 0;
  uint32_t temperature_limit = 0;  // degrees Celsius; 0: unknown
  // Of general counter 0. Those of counter i are i * msr_stride further.
  uint32_t select_msr = 0;
  uint32_t counter_msr = 0;
  uint32_t msr_stride = 1;
  // Of all general counters, also those that the core does not program.
  uint32_t num_selections = 0;
  // With kHasGlobalControl: the enable bits of all counters, and the register
  // that clears their overflow bits.
  uint32_t global_control_msr = 0;
  uint32_t global_clear_msr = 0;

  bool HasPmu() const { return description.pmu_version != 0; }
  bool Has(uint32_t capability) const {
    return (description.capabilities & capability) != 0;
  }
  bool HasFixed(uint32_t counter) const {
    return (description.fixed_counters >> counter & 1) != 0;
  }
  uint32_t SelectMsr(uint32_t counter) const {
    return select_msr + counter * msr_stride;
  }
  uint32_t CounterMsr(uint32_t counter) const {
    return counter_msr + counter * msr_stride;
  }
  // The bits of all counters in GLOBAL_CTRL and GLOBAL_STATUS.
  uint64_t AllCounters() const {
    return ((uint64_t{1} << description.num_general) - 1) |
           uint64_t{description.fixed_counters} << 32;
  }
};

// Of the CPU that executes the function. Reads only. A register that the CPU
// refuses to read, as under some hypervisors, means that it lacks the
// capability.
CpuFeatures DetectFeatures(Machine& machine);

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_CPU_FEATURES_H_
