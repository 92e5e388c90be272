#include <windows.h>

#include "driver/pmc/experiments/real_processor.h"

namespace fleetperf::pmc {

// Clock::Real() advances in steps of up to 16 ms.
absl::Duration PreciseTime() {
  LARGE_INTEGER frequency;
  LARGE_INTEGER count;
  QueryPerformanceFrequency(&frequency);
  QueryPerformanceCounter(&count);
  return absl::Seconds(count.QuadPart / frequency.QuadPart) +
         absl::Seconds(1) * (count.QuadPart % frequency.QuadPart) /
             frequency.QuadPart;
}

// Numbers count through the processor groups, as the driver's do.
int PinThisThread() {
  PROCESSOR_NUMBER number;
  GetCurrentProcessorNumberEx(&number);
  GROUP_AFFINITY affinity = {};
  affinity.Group = number.Group;
  affinity.Mask = KAFFINITY{1} << number.Number;
  if (!SetThreadGroupAffinity(GetCurrentThread(), &affinity, nullptr)) {
    return -1;
  }
  int cpu = number.Number;
  for (WORD group = 0; group < number.Group; ++group) {
    cpu += static_cast<int>(GetActiveProcessorCount(group));
  }
  return cpu;
}

}  // namespace fleetperf::pmc
