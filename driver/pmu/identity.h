// Facts about a CPU that follow from its vendor, model and position.

#ifndef FLEETPERF_DRIVER_PMU_IDENTITY_H_
#define FLEETPERF_DRIVER_PMU_IDENTITY_H_

#include <stdint.h>

#include "driver/pmu/cpu_features.h"
#include "driver/pmu/cpuid.h"
#include "driver/pmu/msr_access.h"

namespace fleetperf::pmu {

CpuIdentity ReadIdentity(const Cpuid& cpuid);

// As in CpuDescription.
uint32_t CoreType(const Cpuid& cpuid);
uint32_t Package(const Cpuid& cpuid);

// Of an Intel CPU, from CPUID.15H, CPUID.16H or MSR_PLATFORM_INFO, whichever
// comes first. 0 if all are silent.
uint64_t TscHertz(const Cpuid& cpuid, const MsrAccess& msrs,
                  const CpuIdentity& identity);

// Whether an Intel CPU counts energy in 2^n microjoules, which the protocol
// does not express: Silvermont and Airmont.
bool CountsEnergyInMicrojoules(const CpuIdentity& identity);

// Whether the unit of memory energy is 15.3 microjoules (2^-16 J), whatever the
// CPU's energy unit: servers from Haswell to Ice Lake, and Xeon Phi.
bool HasFixedMemoryEnergyUnit(const CpuIdentity& identity);

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_IDENTITY_H_
