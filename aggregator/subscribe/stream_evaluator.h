// Calculates the values of a series from its samples as they arrive.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_STREAM_EVALUATOR_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_STREAM_EVALUATOR_H_

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "aggregator/query/range_evaluator.h"
#include "values/counter_formula.h"
#include "values/formula.h"
#include "values/series_end.h"
#include "values/window.h"

namespace fleetperf::aggregator {

// Returns the end of the window with `time`. Windows end at multiples of the
// interval.
absl::Time EndOfWindow(absl::Time time, absl::Duration interval);

// Evaluates one series. Thread-compatible.
class StreamEvaluator {
 public:
  // Yields at most one value per `interval`, and one value per sample if
  // samples are not more frequent.
  StreamEvaluator(const CounterFormula& formula, absl::Duration interval)
      : formula_(formula), interval_(interval) {}

  // Returns the value that the sample completes, if any. Must be called once
  // for each sample, in the order of epochs and batches. `tick_interval`: the
  // nanoseconds of the tick interval that ends with the sample, if the series'
  // piece is in it; otherwise 0. `time_of` returns the nanoseconds of all tick
  // intervals in the window that ends at a time.
  std::optional<Point> Add(
      const RawSample& sample, absl::Duration sampling_interval,
      int64_t tick_interval = 0,
      absl::FunctionRef<int64_t(absl::Time)> time_of = [](absl::Time) {
        return int64_t{0};
      });

  // Begins a born life. `before` is the sample at the tick before its first
  // one.
  void BeginLife(const RawSample& before) { end_.Set(before); }

  bool uses_two_samples() const { return formula_.uses_two_samples(); }
  // Whether the values are ranked by presence.
  bool is_weighted() const { return IsWeighted(formula_, Over::kFormula); }
  std::optional<absl::Time> newest() const;

 private:
  std::optional<Point> AddToWindow(
      const RawSample& sample, const std::optional<Piece>& piece,
      int64_t tick_interval, absl::FunctionRef<int64_t(absl::Time)> time_of);

  CounterFormula formula_;
  absl::Duration interval_;
  SeriesEnd end_;
  absl::Time window_end_ = absl::InfinitePast();
  WindowAccumulator window_;
  TimeThere there_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_STREAM_EVALUATOR_H_
