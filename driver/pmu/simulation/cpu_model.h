// CPUs to simulate: the answers of CPUID and the registers that exist. The
// values are those of machines of the named generation.

#ifndef FLEETPERF_DRIVER_PMU_SIMULATION_CPU_MODEL_H_
#define FLEETPERF_DRIVER_PMU_SIMULATION_CPU_MODEL_H_

#include <stdint.h>

#include "driver/pmu/machine.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::pmu {

struct CpuModel {
  Vendor vendor = Vendor::kIntel;
  uint32_t signature = 0;  // CPUID.01H:EAX
  uint32_t last_leaf = 0;
  CpuidRegisters pmu;  // CPUID.0AH
  CpuidRegisters tsc;  // CPUID.15H
  uint32_t base_megahertz = 0;
  bool is_hybrid = false;
  uint32_t core_type = 0;         // CPUID.1AH:EAX[31:24]
  uint32_t threads_per_core = 1;  // in CPUID.0BH
  // Powers of two. More than one die is in CPUID.1FH.
  uint32_t cores_per_die = 4;
  uint32_t dies_per_package = 1;
  bool has_avx = false;
  bool has_perf_capabilities = false;
  uint64_t perf_capabilities = 0;
  bool has_amd_counters = false;        // PerfCtrExtCore: six counters
  bool has_amd_global_control = false;  // PerfMonV2
  bool has_thermal_status = false;
  bool has_actual_performance = false;
  // These MSRs do not exist if they are 0.
  uint64_t platform_info = 0;
  uint64_t temperature_target = 0;
  bool has_energy = false;
  uint64_t energy_unit = 0;
  bool has_memory_energy = false;
};

// Intel, in the order of the architectural versions of their PMUs.
CpuModel WithoutPmu();     // version 0: a virtual machine
CpuModel CoreDuo();        // 1: 2 counters of 40 bits
CpuModel Penryn();         // 2: 3 fixed counters more, 40 bits
CpuModel Nehalem();        // 3: 4 counters of 48 bits; two absent events
CpuModel HaswellServer();  // 3, with full-width writes: Xeon E5-1620 v3
CpuModel Skylake();        // 4
CpuModel IceLake();        // 5: 8 and 4 fixed counters
CpuModel AlderLakeCore();  // 5, hybrid: 8 and 4 fixed counters
CpuModel AlderLakeAtom();  // 5, hybrid: 6 and 3 fixed counters

CpuModel Zen2();  // 6 counters of 48 bits
CpuModel Zen4();  // the same, with a global control
CpuModel K10();   // 4

// The answer of a CPU with the number `cpu`, which is its x2APIC id.
CpuidRegisters AnswerCpuid(const CpuModel& model, uint32_t cpu, uint32_t leaf,
                           uint32_t subleaf);

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_SIMULATION_CPU_MODEL_H_
