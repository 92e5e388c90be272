// Calculates the values of windows from the samples of a series.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RANGE_EVALUATOR_H_
#define FLEETPERF_AGGREGATOR_QUERY_RANGE_EVALUATOR_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/query/interval_set.h"
#include "aggregator/query/tick_intervals.h"
#include "aggregator/query/window_grid.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/series_run.h"
#include "values/counter_formula.h"
#include "values/formula.h"
#include "values/series_end.h"
#include "values/summary.h"
#include "values/window.h"

namespace fleetperf::aggregator {

class RunGrowth;

struct Point {
  absl::Time time;  // the end of the window
  WindowValue value;
  // Whether the window is the rest of the range, shorter than the step.
  bool is_partial = false;
};

// Evaluates one series. Thread-compatible.
//
// Invariants:
// - Samples arrive in the order of epochs and sequences, each once. Values
//   depend only on the samples, not on their division into frames or runs.
// - A sample whose interval is at least the step yields a point of its own. All
//   other samples are combined in windows. The interval of a series may change.
// - Stretches (ticks of one window with sound clocks) are evaluated together
//   where that gives the same value as tick by tick.
class RangeEvaluator {
 public:
  // A step of at most the sampling interval yields one value per sample, unless
  // `only_windows` requires the times of windows.
  // `keeps_intervals`: whether TakeIntervals is needed.
  RangeEvaluator(const CounterFormula& formula, const WindowGrid& grid,
                 Over over, bool only_windows = false,
                 bool keeps_intervals = false);

  // Whether samples that are combined in one window may be folded (see
  // Frame::fold). Other values need each sample.
  static bool TakesFolds(const CounterFormula& formula, Over over);

  // Whether a run was folded that follows the fall of a counter, so that all
  // values are wrong: its second sample, which may be the return, is unknown.
  // The caller must begin again, without folds.
  bool needs_samples() const { return needs_samples_; }

  // Adds samples. Samples before the grid's start serve as the older ones of
  // its first piece. `intervals` has the ticks of the run's frame.
  void Add(const SeriesRun& run, const TickIntervals& intervals);
  // Adds a sample whose tick is in no tick interval.
  void Add(const RawSample& sample, absl::Duration interval) {
    AddSample(sample, interval, {});
  }

  // The number of windows and values in memory.
  size_t held() const {
    return windows_.size() + points_.size() + there_.sound.size() +
           there_.broken.size();
  }

  // The tick intervals in which the series was there, and those of them in
  // which it had breaks of its own.
  struct Intervals {
    IntervalSet sound;
    IntervalSet broken;
  };
  Intervals TakeIntervals() { return std::move(there_); }

  // Returns the time of the newest sample.
  std::optional<absl::Time> newest() const;

  // The queries of the samples (FrameTicks::query).
  const std::vector<size_t>& queries() const { return queries_; }

  // Returns the value over the whole grid. `times` are those of the tick
  // intervals of the counter.
  WindowValue Total(const IntervalTimes& times = {}) const;

  // Returns the values of the windows from the first to the last one with a
  // sample. If `goes_on`, returns windows to the end of the grid: the series
  // did not end, so missing samples are a gap. `losses` have the causes of
  // gaps. Moves the values out, so only Total may be called afterwards.
  std::vector<Point> Finish(bool goes_on, const std::vector<Loss>& losses,
                            const IntervalTimes& times = {});

 private:
  // A window with samples.
  struct Window {
    int64_t number = 0;
    WindowAccumulator accumulator;
    TimeThere there;
    // For one-sample formulas: the newest sample's value, and its expiry.
    CalculatedValue newest_value;
    absl::Time holds_until;
    // Whether points of samples lie between the window before and this one.
    bool follows_samples = false;
  };

  // A sample's tick.
  struct Tick {
    int64_t number = 0;  // 0: unknown
    // The nanoseconds of the tick interval that ends at the tick, if the
    // series' piece is in it; otherwise 0.
    int64_t length = 0;
    const perflib::Clocks* before = nullptr;  // of the tick before, if any
  };

  // Whether samples of this interval yield a point each. A thinned interval as
  // long as the step is a window.
  bool AsksForSamples(absl::Duration interval, bool is_thinned) const {
    return !only_windows_ && grid_.step > absl::ZeroDuration() &&
           (is_thinned ? grid_.step < interval : grid_.step <= interval);
  }
  // Forgets the last sample if it is too old to begin the first piece.
  void ForgetEarlier(absl::Time time, absl::Duration interval);
  // Makes room for up to `more` windows.
  void ReserveWindows(size_t more);
  Window& WindowAt(int64_t number);
  // Returns the first window whose number is at least `number`.
  std::vector<Window>::iterator FindWindow(int64_t number);
  // A sample with a point of its own counts for the presence in its window.
  void AddThereOfPoint(int64_t window, const TimeThere& there);
  // Returns the time in a window, with that of such samples.
  TimeThere ThereIn(const Window& window) const;
  void NoteNewest(const RawSample& sample, absl::Duration interval,
                  Window* window) const;

  void AddSample(const RawSample& sample, absl::Duration interval,
                 const Tick& tick);
  Tick TickOf(const SeriesRun& run, const FrameTicks& ticks,
              uint32_t tick) const;
  void Keep(const perflib::Clocks& older, const perflib::Clocks& newer,
            bool is_sound);
  void BeginLife(const SeriesRun& run, const FrameTicks& ticks);
  // Adds ticks of a run one by one.
  void AddEach(const SeriesRun& run, const FrameTicks& ticks, uint32_t first,
               uint32_t end);
  void AddPerSample(const RawSample& sample, const std::optional<Piece>& piece);
  // Adds a point for the time without samples from `last` to `time`, if a gap.
  void AddGapBetween(std::optional<absl::Time> last, absl::Time time);
  // Ends points of samples: the next samples belong to windows.
  void BeginWindows(std::optional<absl::Time> last, absl::Time time);

  // What stretches of a run add up to that are not in the totals yet. None of
  // its ticks follows the last one of these.
  struct Grown {
    uint32_t end = 0;  // after the last tick
    WindowAccumulator::Pieces pieces;
    TimeThere there;
  };
  // Adds the ticks of a run, for formulas that use two samples.
  void AddRising(const SeriesRun& run, const TickIntervals& intervals,
                 const RunGrowth& growth);
  // Adds the ticks of a stretch together, which neither begin the run nor
  // follow a break. Returns false if there is no growth.
  bool AddGrown(const SeriesRun& run, const Stretch& stretch,
                const RunGrowth& growth, uint32_t first, uint32_t end,
                Grown* grown);
  void AddToTotal(const SeriesRun& run, const FrameTicks& ticks, Grown* grown);
  // Adds the ticks of a stretch together, for raw values.
  void AddRaw(const SeriesRun& run, const FrameTicks& ticks,
              absl::Span<const uint64_t> values, const Stretch& stretch,
              uint32_t first, uint32_t end);

  void AddThinned(const SeriesRun& run, const FrameTicks& ticks);
  // Adds a summary as a point of its own. `last` is the time of the tick
  // before; `length` is the nanoseconds of the tick interval.
  void AddThinnedPoint(const SeriesRun& run, const Summary& summary,
                       const RawSample& sample, std::optional<absl::Time> last,
                       int64_t length);
  void AddSummary(const Summary& summary, const RawSample& sample,
                  absl::Duration collection_interval, int64_t window);

  absl::Time EndOf(int64_t window) const;
  // Whether the range's rest is long enough for a partial window.
  bool ShowsRest() const;
  void FinishWindows(bool goes_on, const IntervalTimes& times,
                     std::vector<Point>* points) const;
  // Returns the value of a window without samples, in which the newest sample
  // of `last` is still valid.
  static WindowValue HeldValue(const Window& last);
  // Returns the coverage of the value over the range, for formulas with one
  // sample.
  double CoverageOfSamples() const;
  void FinishSamples(bool goes_on);

  const CounterFormula formula_;
  const WindowGrid grid_;
  const int64_t windows_of_grid_;
  const Over over_;
  const bool only_windows_;
  const bool keeps_intervals_;
  // Whether the newest sample inside the grid yielded a point of its own.
  bool is_per_sample_ = false;
  SeriesEnd end_;
  bool needs_samples_ = false;
  uint64_t newest_life_ = 0;  // of the last run
  std::vector<size_t> queries_;
  int64_t last_number_ = 0;  // of the tick of end_; 0: unknown
  absl::Duration interval_;  // of the newest sample
  // Before thinning, of the newest sample inside the grid.
  absl::Duration collection_interval_;
  uint64_t samples_ = 0;  // inside the grid
  WindowAccumulator total_;
  TimeThere total_there_;
  Intervals there_;
  std::vector<Window> windows_;  // by number
  std::vector<Point> points_;    // if each sample yields one
  // The tick intervals of these samples: all, and those without breaks.
  IntervalTimes all_of_points_;
  IntervalTimes sound_of_points_;
  WindowAccumulator of_tick_;  // of the last point, if it is thinned
  TimeThere of_tick_there_;
  int64_t of_tick_length_ = 0;  // of its tick intervals
  absl::Time of_tick_end_ = absl::InfinitePast();
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RANGE_EVALUATOR_H_
