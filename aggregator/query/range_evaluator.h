// Turns the samples of a series into the values of windows.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RANGE_EVALUATOR_H_
#define FLEETPERF_AGGREGATOR_QUERY_RANGE_EVALUATOR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "aggregator/formula/window.h"
#include "aggregator/store/frame.h"

namespace fleetperf::aggregator {

// The windows of a query: (start + (k-1) * step, start + k * step] for k
// from 1.
struct WindowGrid {
  absl::Time start;
  absl::Time end;
  absl::Duration step;  // 0: one window from start to end

  absl::Duration length() const {
    return step == absl::ZeroDuration() ? end - start : step;
  }
  // How many whole windows there are.
  int64_t count() const;
  absl::Time EndOf(int64_t window) const { return start + window * length(); }
  // The number of the window that `time` is in, from 1; 0 if it is at or before
  // the start, more than count() if it is behind the end.
  int64_t WindowOf(absl::Time time) const;
};

struct Point {
  absl::Time time;  // the end of the window
  WindowValue value;
};

// One series. Thread-compatible.
class RangeEvaluator {
 public:
  // A step at or below the sampling interval gives one value per sample, unless
  // `only_windows` says that values must have the times of windows.
  RangeEvaluator(const CounterFormula& formula, const WindowGrid& grid,
                 Over over, bool only_windows = false);

  // Samples come in the order of epochs and sequences. Those before the grid's
  // start serve as the older ones of its first piece.
  void Add(const RawSample& sample, absl::Duration interval);

  // How many windows and values it holds, all together.
  size_t held() const { return windows_.size() + points_.size(); }

  // The time of the newest sample.
  std::optional<absl::Time> newest() const;

  // The value over the whole grid.
  WindowValue Total() const;

  // The values of the windows, from the first with a sample to the last with
  // one; if `goes_on`, to the end of the grid: the series did not end, and what
  // is missing there is a gap. `losses` tell the causes of gaps.
  std::vector<Point> Finish(bool goes_on,
                            const std::vector<Loss>& losses) const;

 private:
  // A window that something was added to.
  struct Window {
    WindowAccumulator accumulator;
    // For one-sample formulas: its newest sample's.
    absl::Time newest_time;
    absl::Duration newest_interval;
    CalculatedValue newest_value;
  };

  void AddTo(WindowAccumulator& window, const RawSample& sample,
             const std::optional<Piece>& piece);
  void AddPerSample(const RawSample& sample, const std::optional<Piece>& piece);
  void AddGapBefore(absl::Time time);
  std::vector<Point> FinishWindows(bool goes_on) const;
  WindowValue ValueWithoutSamples(const Window& last, absl::Time end) const;
  std::vector<Point> FinishSamples(bool goes_on) const;

  const CounterFormula formula_;
  const WindowGrid grid_;
  const Over over_;
  const bool only_windows_;
  std::optional<RawSample> last_;
  absl::Duration interval_;  // of the newest sample
  bool per_sample_ = false;
  uint64_t samples_ = 0;  // inside the grid
  WindowAccumulator total_;
  std::map<int64_t, Window> windows_;  // by number
  std::vector<Point> points_;          // if there is one per sample
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RANGE_EVALUATOR_H_
