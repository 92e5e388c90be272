// Privileged instructions that may fault: without the guard, a
// general-protection fault stops the machine with a bug check.

#ifndef FLEETPERF_DRIVER_WINDOWS_SYS_GUARDED_H_
#define FLEETPERF_DRIVER_WINDOWS_SYS_GUARDED_H_

#include <stdint.h>

namespace fleetperf::pmu_device {

// Each returns false, and has no effect, if the instruction faults. Any IRQL.
bool GuardedReadMsr(uint32_t msr, uint64_t* value);
bool GuardedWriteMsr(uint32_t msr, uint64_t value);
bool GuardedWriteCr4(uint64_t value);

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_DRIVER_WINDOWS_SYS_GUARDED_H_
