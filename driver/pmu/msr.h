// Numbers and bits of the model-specific registers that the PMU core uses.
// Sources: Intel's SDM, volume 4; AMD's APM, volume 2, and PPRs.

#ifndef FLEETPERF_DRIVER_PMU_MSR_H_
#define FLEETPERF_DRIVER_PMU_MSR_H_

#include <stdint.h>

namespace fleetperf::pmu::msr {

inline constexpr uint32_t kGeneralCounter = 0xC1;
inline constexpr uint32_t kPlatformInfo = 0xCE;
inline constexpr uint32_t kMaximumPerformance = 0xE7;  // IA32_MPERF
inline constexpr uint32_t kActualPerformance = 0xE8;   // IA32_APERF
inline constexpr uint32_t kEventSelect = 0x186;
inline constexpr uint32_t kThermalStatus = 0x19C;
inline constexpr uint32_t kTemperatureTarget = 0x1A2;
inline constexpr uint32_t kFixedCounter = 0x309;
inline constexpr uint32_t kPerfCapabilities = 0x345;
inline constexpr uint32_t kFixedControl = 0x38D;
inline constexpr uint32_t kGlobalControl = 0x38F;
inline constexpr uint32_t kOverflowControl = 0x390;
inline constexpr uint32_t kFullWidthCounter = 0x4C1;
inline constexpr uint32_t kEnergyUnit = 0x606;
inline constexpr uint32_t kPackageEnergy = 0x611;
inline constexpr uint32_t kMemoryEnergy = 0x619;

// AMD: event selects and counters of the first four counters, and of all six
// (a pair for each).
inline constexpr uint32_t kAmdLegacySelect = 0xC0010000;
inline constexpr uint32_t kAmdLegacyCounter = 0xC0010004;
inline constexpr uint32_t kAmdSelect = 0xC0010200;
inline constexpr uint32_t kAmdCounter = 0xC0010201;
inline constexpr uint32_t kAmdEnergyUnit = 0xC0010299;
inline constexpr uint32_t kAmdPackageEnergy = 0xC001029B;

inline constexpr uint32_t kNumAmdLegacyCounters = 4;
inline constexpr uint32_t kNumAmdCounters = 6;

inline constexpr uint64_t kSelectEnable = 1 << 22;
inline constexpr uint64_t kFullWidthWrites = 1 << 13;  // of PERF_CAPABILITIES
inline constexpr uint64_t kCr4Pce = 1 << 8;

}  // namespace fleetperf::pmu::msr

#endif  // FLEETPERF_DRIVER_PMU_MSR_H_
