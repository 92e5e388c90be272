// Numbers and bits of the model-specific registers that the PMU core uses.
// Sources: Intel's SDM, volume 4; AMD's APM, volume 2, and PPRs.

#ifndef FLEETPERF_DRIVER_PMU_MSR_H_
#define FLEETPERF_DRIVER_PMU_MSR_H_

#include <stdint.h>

namespace fleetperf::pmu::msr {

inline constexpr uint32_t kGeneralCounter = 0xC1;      // IA32_PMC0
inline constexpr uint32_t kPlatformInfo = 0xCE;        // MSR_PLATFORM_INFO
inline constexpr uint32_t kMaximumPerformance = 0xE7;  // IA32_MPERF
inline constexpr uint32_t kActualPerformance = 0xE8;   // IA32_APERF
inline constexpr uint32_t kEventSelect = 0x186;        // IA32_PERFEVTSEL0
inline constexpr uint32_t kThermalStatus = 0x19C;      // IA32_THERM_STATUS
inline constexpr uint32_t kTemperatureTarget = 0x1A2;  // MSR_TEMPERATURE_TARGET
inline constexpr uint32_t kFixedCounter = 0x309;       // IA32_FIXED_CTR0
inline constexpr uint32_t kPerfCapabilities = 0x345;   // IA32_PERF_CAPABILITIES
inline constexpr uint32_t kFixedControl = 0x38D;       // IA32_FIXED_CTR_CTRL
inline constexpr uint32_t kGlobalControl = 0x38F;      // IA32_PERF_GLOBAL_CTRL
inline constexpr uint32_t kOverflowControl =
    0x390;  // IA32_PERF_GLOBAL_OVF_CTRL
inline constexpr uint32_t kFullWidthCounter = 0x4C1;  // IA32_A_PMC0
inline constexpr uint32_t kEnergyUnit = 0x606;        // MSR_RAPL_POWER_UNIT
inline constexpr uint32_t kPackageEnergy = 0x611;     // MSR_PKG_ENERGY_STATUS
inline constexpr uint32_t kMemoryEnergy = 0x619;      // MSR_DRAM_ENERGY_STATUS

// AMD: event selects and counters of the first four counters, and of all six
// (a pair for each).
inline constexpr uint32_t kAmdLegacySelect = 0xC0010000;   // PerfEvtSel0
inline constexpr uint32_t kAmdLegacyCounter = 0xC0010004;  // PerfCtr0
inline constexpr uint32_t kAmdSelect = 0xC0010200;         // PERF_CTL0
inline constexpr uint32_t kAmdCounter = 0xC0010201;        // PERF_CTR0
inline constexpr uint32_t kAmdEnergyUnit = 0xC0010299;     // RAPL_PWR_UNIT
inline constexpr uint32_t kAmdPackageEnergy = 0xC001029B;  // PKG_ENERGY_STAT

// PerfMonV2: a counter runs only if its bit in the global control is set.
inline constexpr uint32_t kAmdGlobalControl = 0xC0000301;  // PerfCntrGlobalCtl
inline constexpr uint32_t kAmdGlobalClear =
    0xC0000302;  // PerfCntrGlobalStatusClr

inline constexpr uint32_t kNumAmdLegacyCounters = 4;
inline constexpr uint32_t kNumAmdCounters = 6;
// Selections beyond those that the core programs are only read.
inline constexpr uint32_t kMaxSelections = 16;

inline constexpr uint64_t kSelectEnable = 1 << 22;
inline constexpr uint64_t kFullWidthWrites = 1 << 13;  // of PERF_CAPABILITIES
inline constexpr uint64_t kCr4Pce = 1 << 8;

}  // namespace fleetperf::pmu::msr

#endif  // FLEETPERF_DRIVER_PMU_MSR_H_
