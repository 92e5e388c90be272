// Consecutive ticks that a walk may take together.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_STRETCH_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_STRETCH_H_

#include <cstdint>
#include <optional>

namespace fleetperf::aggregator {

// Consecutive ticks of a frame in the same window, without a break between
// their clocks.
struct Stretch {
  uint32_t first = 0;
  uint32_t last = 0;
  int64_t window = 0;      // the number of the window
  bool is_before = false;  // before the first window
  bool is_behind = false;  // after the last window
  // The nanoseconds since the tick before the first one; std::nullopt if their
  // clocks have a break.
  std::optional<int64_t> link;
  int64_t longest = 0;  // the longest nanoseconds between two of the ticks
  int64_t length = 0;   // the nanoseconds from the first to the last tick
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_STRETCH_H_
