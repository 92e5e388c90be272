// Copies structures from and to memory of any alignment.

#ifndef FLEETPERF_DRIVER_PMU_BYTES_H_
#define FLEETPERF_DRIVER_PMU_BYTES_H_

#include <stddef.h>

namespace fleetperf::pmu {

// Compilers turn the loop into a call of memcpy.
inline void CopyBytes(void* to, const void* from, size_t size) {
  auto* target = static_cast<unsigned char*>(to);
  const auto* source = static_cast<const unsigned char*>(from);
  for (size_t i = 0; i < size; ++i) target[i] = source[i];
}

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_BYTES_H_
