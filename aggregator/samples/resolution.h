// How many of its samples the store has left of a time.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_RESOLUTION_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_RESOLUTION_H_

#include <cstdint>

namespace fleetperf::aggregator {

enum class Resolution : uint8_t {
  kFull,    // all that were collected
  kMinute,  // one a minute
  kHour,    // one an hour
};
inline constexpr Resolution kResolutions[] = {
    Resolution::kFull, Resolution::kMinute, Resolution::kHour};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_RESOLUTION_H_
