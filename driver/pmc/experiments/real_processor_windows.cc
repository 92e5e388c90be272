#include <windows.h>

#include "driver/pmc/experiments/real_processor.h"

namespace fleetperf::pmc {

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
