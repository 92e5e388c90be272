// Calculates the values of a series as its samples arrive.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_STREAM_EVALUATOR_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_STREAM_EVALUATOR_H_

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "aggregator/query/range_evaluator.h"
#include "aggregator/samples/walker.h"
#include "values/counter_formula.h"
#include "values/formula.h"
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
  // for each sample, in the order of epochs and batches. `time_of` returns the
  // nanoseconds of all tick intervals in the window that ends at a time.
  std::optional<Point> Add(
      const WalkedSample& walked,
      absl::FunctionRef<int64_t(absl::Time)> time_of = [](absl::Time) {
        return int64_t{0};
      });

  const CounterFormula& formula() const { return formula_; }
  // Whether the values are ranked by presence.
  bool is_weighted() const { return IsWeighted(formula_, Over::kFormula); }

 private:
  std::optional<Point> AddToWindow(
      const WalkedSample& walked,
      absl::FunctionRef<int64_t(absl::Time)> time_of);

  CounterFormula formula_;
  absl::Duration interval_;
  absl::Time window_end_ = absl::InfinitePast();
  WindowAccumulator window_;
  TimeThere there_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_STREAM_EVALUATOR_H_
