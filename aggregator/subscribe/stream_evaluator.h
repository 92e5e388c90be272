// Calculates the values of a series from its samples as they arrive.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_STREAM_EVALUATOR_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_STREAM_EVALUATOR_H_

#include <optional>

#include "absl/time/time.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "aggregator/formula/window.h"
#include "aggregator/query/range_evaluator.h"

namespace fleetperf::aggregator {

// Evaluates one series. Thread-compatible.
class StreamEvaluator {
 public:
  // Yields at most one value per `interval`, and one value per sample if
  // samples are not more frequent.
  StreamEvaluator(const CounterFormula& formula, absl::Duration interval)
      : formula_(formula), interval_(interval) {}

  // Returns the value that the sample completes, if any. Must be called once
  // for each sample, in the order of epochs and batches.
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
