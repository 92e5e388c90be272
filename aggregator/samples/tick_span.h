// The time range of a batch whose samples may be undecodable.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_TICK_SPAN_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_TICK_SPAN_H_

#include <cstdint>

#include "absl/time/time.h"
#include "aggregator/samples/batch_contents.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// The range of ticks of a batch by their clocks, as far as these are readable.
struct TickSpan {
  uint64_t ticks = 0;
  absl::Time start = absl::InfiniteFuture();
  absl::Time end = absl::InfinitePast();
};
TickSpan ReadTickSpan(const BatchContents& contents);

// Returns the loss of all ticks of a rejected batch. If its clocks are not
// readable, returns a loss at `now`, by the machine's clock.
Loss LossOfRejected(const BatchContents& contents, absl::Time now);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_TICK_SPAN_H_
