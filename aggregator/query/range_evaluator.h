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
#include "aggregator/samples/walker.h"
#include "values/counter_formula.h"
#include "values/formula.h"
#include "values/summary.h"
#include "values/window.h"

namespace fleetperf::aggregator {

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
// - Samples of a stretch are added together where that gives the same value as
//   one by one.
class RangeEvaluator : private StretchListener {
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

  // See WalkedSeries. The caller must begin again, without folds.
  bool needs_samples() const { return series_.needs_samples(); }

  // Adds samples. Samples before the grid's start serve as the older ones of
  // its first piece. `intervals` has the ticks of the run's frame.
  void Add(const SeriesRun& run, const TickIntervals& intervals);
  // Adds a sample whose tick is in no tick interval.
  void Add(const RawSample& sample, absl::Duration interval);

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
  std::optional<absl::Time> newest() const { return series_.newest(); }

  // The queries of the samples (Walker::query).
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

  // Otherwise, the total is the only value.
  bool has_windows() const { return grid_.step > absl::ZeroDuration(); }
  // Whether samples of this interval yield a point each. A thinned interval as
  // long as the step is a window.
  bool AsksForSamples(absl::Duration interval, bool is_thinned) const {
    return !only_windows_ && has_windows() &&
           (is_thinned ? grid_.step < interval : grid_.step <= interval);
  }
  Window& WindowAt(int64_t number);
  // Returns the first window whose number is at least `number`.
  std::vector<Window>::iterator FindWindow(int64_t number);
  // A sample with a point of its own counts for the presence in its window.
  void AddThereOfPoint(int64_t window, const TimeThere& there);
  // Returns the time in a window, with that of such samples.
  TimeThere ThereIn(const Window& window) const;
  void NoteNewest(const RawSample& sample, absl::Duration interval,
                  Window* window) const;

  void OnSample(const WalkedSample& walked) override;
  void OnPieces(const WalkedPieces& walked) override;
  void OnGauges(const WalkedGauges& walked) override;
  void OnSummary(const WalkedSummary& walked, const SeriesRun& run);

  Joining JoiningOf(absl::Duration interval) const;
  void Keep(const perflib::Clocks& older, const perflib::Clocks& newer,
            bool is_sound);
  void AddPerSample(const RawSample& sample, const std::optional<Piece>& piece);
  // Adds a point for the time without samples from `last` to `time`, if a gap.
  void AddGapBetween(std::optional<absl::Time> last, absl::Time time);
  // Ends points of samples: the next samples belong to windows.
  void BeginWindows(const RawSample* older, absl::Time time);

  // Adds a summary as a point of its own.
  void AddThinnedPoint(const WalkedSummary& walked, const Summary& summary,
                       absl::Duration interval);
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
  WalkedSeries series_;
  std::vector<size_t> queries_;
  absl::Duration interval_;             // of the newest sample
  absl::Duration collection_interval_;  // of it, before thinning
  uint64_t samples_ = 0;                // inside the grid
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
