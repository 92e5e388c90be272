// Checks requests to program counters, which come from outside.

#ifndef FLEETPERF_DRIVER_PMU_PROGRAM_CHECK_H_
#define FLEETPERF_DRIVER_PMU_PROGRAM_CHECK_H_

#include <stddef.h>

#include "driver/pmu/cpu_features.h"
#include "driver/pmu/protocol.h"

namespace fleetperf::pmu {

// Copies a request of `size` bytes to `request`. kOk only if its structure is
// right, whatever the CPUs can count.
Result ParseProgram(const void* bytes, size_t size, ProgramRequest* request);

// The program for cores of a type, or null.
const CoreProgram* FindProgram(const ProgramRequest& request,
                               uint32_t core_type);

// kOk if the CPU has all counters and events of `program`.
Result CheckProgram(const CpuFeatures& cpu, const CoreProgram& program);

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_PROGRAM_CHECK_H_
