// The kernel's declarations. ntifs.h has those of security descriptors, which
// ntddk.h lacks.

#ifndef FLEETPERF_DRIVER_WINDOWS_SYS_KERNEL_H_
#define FLEETPERF_DRIVER_WINDOWS_SYS_KERNEL_H_

#include <ntifs.h>

namespace fleetperf::pmu_device {

// Finds a function of the kernel or the HAL; nullptr if this Windows lacks it.
// IRQL: PASSIVE_LEVEL.
template <typename Function>
Function* FindRoutine(const wchar_t* name) {
  UNICODE_STRING text;
  RtlInitUnicodeString(&text, name);
  return reinterpret_cast<Function*>(MmGetSystemRoutineAddress(&text));
}

// Finds a function by its name in the headers, which thus check the name.
#define FLEETPERF_FIND_ROUTINE(function) \
  ::fleetperf::pmu_device::FindRoutine<decltype(function)>(L"" #function)

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_DRIVER_WINDOWS_SYS_KERNEL_H_
