// The resolution of stored samples.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_RESOLUTION_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_RESOLUTION_H_

#include <cstdint>

namespace fleetperf::aggregator {

enum class Resolution : uint8_t {
  kFull,    // all collected samples
  kMinute,  // one sample per minute
  kHour,    // one sample per hour
};
inline constexpr Resolution kResolutions[] = {
    Resolution::kFull, Resolution::kMinute, Resolution::kHour};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_RESOLUTION_H_
