// Cuts frames.

#ifndef FLEETPERF_AGGREGATOR_HISTORY_FRAME_SLICE_H_
#define FLEETPERF_AGGREGATOR_HISTORY_FRAME_SLICE_H_

#include <cstdint>

#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// Returns the ticks from `first` to before `end` of a frame that is not folded.
// Runs without such a tick are left out, and each column has its values in the
// order of the runs. Columns without values keep none. The summaries of thinned
// data stay the same.
Frame Slice(const Frame& frame, uint32_t first, uint32_t end);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_HISTORY_FRAME_SLICE_H_
