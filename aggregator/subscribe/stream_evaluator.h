// Turns the samples of a series into values as they come.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_STREAM_EVALUATOR_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_STREAM_EVALUATOR_H_

#include <optional>

#include "absl/time/time.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "aggregator/formula/window.h"
#include "aggregator/query/range_evaluator.h"

namespace fleetperf::aggregator {

// One series. Thread-compatible.
class StreamEvaluator {
 public:
  // At most one value in `interval`; one for each sample if samples come no
  // more often than that.
  StreamEvaluator(const CounterFormula& formula, absl::Duration interval)
      : formula_(formula), interval_(interval) {}

  // The value that the sample completes, if it does. Samples come in the order
  // of epochs and batches, each once.
  std::optional<Point> Add(const RawSample& sample,
                           absl::Duration sampling_interval);

  std::optional<absl::Time> newest() const;

 private:
  std::optional<Point> AddToWindow(const RawSample& sample,
                                   const std::optional<Piece>& piece);

  CounterFormula formula_;
  absl::Duration interval_;
  std::optional<RawSample> last_;
  absl::Time window_end_ = absl::InfinitePast();
  WindowAccumulator window_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_STREAM_EVALUATOR_H_
