// Turns the samples of a series into the values of windows.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RANGE_EVALUATOR_H_
#define FLEETPERF_AGGREGATOR_QUERY_RANGE_EVALUATOR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "aggregator/formula/summary.h"
#include "aggregator/formula/window.h"
#include "aggregator/query/window_grid.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/series_run.h"

namespace fleetperf::aggregator {

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
  // start serve as the older ones of its first piece. `stretches` are those of
  // the run's frame in the grid.
  void Add(const SeriesRun& run, const std::vector<Stretch>& stretches);
  void Add(const RawSample& sample, absl::Duration interval);

  // How many windows and values it holds, all together.
  size_t held() const { return windows_.size() + points_.size(); }

  // The time of the newest sample.
  std::optional<absl::Time> newest() const;

  // The value over the whole grid.
  WindowValue Total() const;

  // The values of the windows, from the first with a sample to the last with
  // one; if `goes_on`, to the end of the grid: the series did not end, and what
  // is missing there is a gap. `losses` tell the causes of gaps. The
  // last call, with Total: what it held is in what they return.
  std::vector<Point> Finish(bool goes_on, const std::vector<Loss>& losses);

 private:
  // A window that something was added to.
  struct Window {
    int64_t number = 0;
    WindowAccumulator accumulator;
    // For one-sample formulas: its newest sample's, and how long that holds.
    CalculatedValue newest_value;
    absl::Time holds_until;
  };

  bool AsksForSamples(absl::Duration interval) const {
    return !only_windows_ && grid_.step > absl::ZeroDuration() &&
           grid_.step <= interval;
  }
  Window& WindowAt(int64_t number);
  void NoteNewest(const RawSample& sample, absl::Duration interval,
                  Window* window) const;

  // Ticks of a run, one by one.
  void AddEach(const SeriesRun& run, uint32_t first, uint32_t end);
  void AddPerSample(const RawSample& sample, const std::optional<Piece>& piece);
  void AddGapBefore(absl::Time time);

  // Ticks of a stretch together, of formulas that use two samples. The last
  // sample before them is last_. False if something is wrong with them.
  bool AddGrown(const SeriesRun& run, const Stretch& stretch, uint32_t first,
                uint32_t end);
  // The same for those of raw values.
  void AddRaw(const SeriesRun& run, absl::Span<const uint64_t> values,
              const Stretch& stretch, uint32_t first, uint32_t end);

  void AddThinned(const SeriesRun& run);
  void AddSummary(const Summary& summary, const RawSample& sample,
                  absl::Duration collection_interval, int64_t window);

  void FinishWindows(bool goes_on, std::vector<Point>* points) const;
  WindowValue ValueWithoutSamples(const Window& last, absl::Time end) const;
  void FinishSamples(bool goes_on);

  const CounterFormula formula_;
  const WindowGrid grid_;
  const int64_t windows_of_grid_;
  const Over over_;
  const bool only_windows_;
  // Whether there is one value per sample, as the interval of the first says;
  // what is thinned goes by its own.
  std::optional<bool> per_sample_;
  std::optional<RawSample> last_;
  absl::Duration interval_;  // of the newest sample
  uint64_t samples_ = 0;     // inside the grid
  WindowAccumulator total_;
  std::vector<Window> windows_;  // by number
  std::vector<Point> points_;    // where there is one per sample
  WindowAccumulator of_tick_;    // of the last of them, if it is thinned
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RANGE_EVALUATOR_H_
