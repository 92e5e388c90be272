// Numbers of instance lives.

#ifndef FLEETPERF_VALUES_LIFE_H_
#define FLEETPERF_VALUES_LIFE_H_

#include <cstdint>

namespace fleetperf {

// Combines the number of the epoch with the number of the instance's definition
// in that epoch.
constexpr uint64_t MakeLife(uint32_t epoch_number, uint32_t definition) {
  return uint64_t{epoch_number} << 32 | definition;
}
constexpr uint32_t EpochOfLife(uint64_t life) {
  return static_cast<uint32_t>(life >> 32);
}
constexpr uint32_t DefinitionOfLife(uint64_t life) {
  return static_cast<uint32_t>(life);
}

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_LIFE_H_
