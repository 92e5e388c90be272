#include "aggregator/query/range_evaluator.h"

#include <algorithm>
#include <utility>

#include "aggregator/query/run_ticks.h"
#include "values/quotient.h"

namespace fleetperf::aggregator {
namespace {

// Rounds up to a multiple of `length`.
absl::Time CeilTime(absl::Time time, absl::Duration length) {
  return absl::UnixEpoch() + absl::Ceil(time - absl::UnixEpoch(), length);
}

WindowValue NoSamples() {
  WindowValue gap{.coverage = 0};
  gap.result = CalculatedValue::Gap(GapCause::kNoSamples);
  return gap;
}

// Sets the cause of gaps without a known cause from the losses.
void Explain(absl::Time start, absl::Time end, const std::vector<Loss>& losses,
             WindowValue* value) {
  GapCause& cause = value->result.cause;
  const bool incomplete = cause == GapCause::kNone && value->coverage < 1;
  if (cause != GapCause::kNoSamples && !incomplete) return;
  for (const Loss& loss : losses) {
    if (loss.start <= end && loss.end > start) {
      cause = GapCauseOf(loss.cause);
      return;
    }
  }
}

// Calls `use` with each stretch that has ticks of the run, and with the first
// and the end of these ticks.
template <typename Use>
void ForEachStretch(const SeriesRun& run, const std::vector<Stretch>& stretches,
                    const Use& use) {
  const uint32_t begin = run.first_tick();
  const uint32_t end = begin + run.ticks();
  auto stretch = std::partition_point(
      stretches.begin(), stretches.end(),
      [&](const Stretch& one) { return one.last < begin; });
  for (; stretch != stretches.end() && stretch->first < end; ++stretch) {
    if (stretch->is_behind) continue;
    use(*stretch, std::max(stretch->first, begin) - begin,
        std::min(stretch->last + 1, end) - begin);
  }
}

}  // namespace

RangeEvaluator::RangeEvaluator(const CounterFormula& formula,
                               const WindowGrid& grid, Over over,
                               bool only_windows, bool keeps_intervals)
    : formula_(formula),
      grid_(grid),
      windows_of_grid_(grid.count()),
      over_(over),
      only_windows_(only_windows),
      keeps_intervals_(keeps_intervals) {}

bool RangeEvaluator::TakesFolds(const CounterFormula& formula, Over over) {
  return formula.formula == perflib::Formula::kRaw ||
         (formula.uses_two_samples() && over == Over::kFormula &&
          !NeedsMulti(formula));
}

void RangeEvaluator::Add(const SeriesRun& run, const TickIntervals& intervals) {
  const FrameTicks& ticks = intervals.ticks();
  const std::vector<Stretch>& stretches = intervals.stretches();
  if (newest_life_ != run.life() && run.is_born()) BeginLife(run, ticks);
  newest_life_ = run.life();
  if (std::find(queries_.begin(), queries_.end(), ticks.query()) ==
      queries_.end()) {
    queries_.push_back(ticks.query());
  }
  if (run.is_thinned()) return AddThinned(run, ticks);
  const bool per_sample = AsksForSamples(run.interval(), /*is_thinned=*/false);
  if (!per_sample) {
    ReserveWindows(std::min<size_t>(run.ticks(), stretches.size()));
  }
  // Values of the counter for M may be missing between the ends of a stretch.
  if (formula_.uses_two_samples() && over_ == Over::kFormula &&
      !NeedsMulti(formula_)) {
    const std::optional<RunGrowth> growth = RunGrowth::Of(formula_, run);
    if (growth.has_value()) return AddRising(run, intervals, *growth);
  }
  const std::optional<absl::Span<const uint64_t>> values = run.Values();
  if (formula_.formula != perflib::Formula::kRaw || per_sample ||
      !values.has_value()) {
    return AddEach(run, ticks, 0, run.ticks());
  }
  ForEachStretch(run, stretches,
                 [&](const Stretch& stretch, uint32_t first, uint32_t end) {
                   AddRaw(run, ticks, *values, stretch, first, end);
                 });
}

// At least doubles the capacity, so that later runs seldom reallocate.
void RangeEvaluator::ReserveWindows(size_t more) {
  const auto windows = static_cast<size_t>(windows_of_grid_);
  const size_t needed = std::min(windows_.size() + more, windows);
  if (needed <= windows_.capacity()) return;
  windows_.reserve(
      std::min(std::max(needed, 2 * windows_.capacity()), windows));
}

// The first sample of a born instance ends a piece that grew from 0, unless the
// clocks have a break before it.
void RangeEvaluator::BeginLife(const SeriesRun& run, const FrameTicks& ticks) {
  if (run.is_thinned() || !formula_.uses_two_samples()) return;
  if (TimeOf(run.clocks(0)) > grid_.end) return;
  const uint32_t first = run.first_tick();
  if (ticks.LengthTo(first) == 0) return;
  end_.Set(BeforeBirth(run.Sample(0), ticks.ClocksBefore(first)));
  last_number_ = ticks.NumberBefore(first);
}

// The ticks of a run are neighbours.
RangeEvaluator::Tick RangeEvaluator::TickOf(const SeriesRun& run,
                                            const FrameTicks& ticks,
                                            uint32_t tick) const {
  const uint32_t of_frame = run.first_tick() + tick;
  const bool is_neighbour = !formula_.uses_two_samples() || tick > 0 ||
                            last_number_ == ticks.NumberBefore(of_frame);
  Tick result = {.number = ticks.NumberOf(of_frame),
                 .length = is_neighbour ? ticks.LengthTo(of_frame) : 0};
  if (result.length > 0) result.before = &ticks.ClocksBefore(of_frame);
  return result;
}

void RangeEvaluator::Keep(const perflib::Clocks& older,
                          const perflib::Clocks& newer, bool is_sound) {
  if (!keeps_intervals_) return;
  IntervalSet& set = is_sound ? there_.sound : there_.broken;
  set.Add(grid_.WindowOf(perflib::TimeOf(newer)), older, newer);
}

void RangeEvaluator::AddEach(const SeriesRun& run, const FrameTicks& ticks,
                             uint32_t first, uint32_t end) {
  for (uint32_t tick = first; tick < end; ++tick) {
    AddSample(run.Sample(tick), run.interval(), TickOf(run, ticks, tick));
  }
}

void RangeEvaluator::AddSample(const RawSample& sample, absl::Duration interval,
                               const Tick& tick) {
  const absl::Time time = TimeOf(sample);
  if (time > grid_.end) return;
  ForgetEarlier(time, interval);
  const std::optional<absl::Time> last = newest();
  const std::optional<Piece> piece = end_.Take(formula_, sample, interval);
  last_number_ = tick.number;
  interval_ = interval;
  if (time <= grid_.start) return;
  collection_interval_ = interval;

  TimeThere there;
  if (tick.length > 0) {
    const bool is_sound = piece.has_value()
                              ? piece->sound()
                              : CalculateSample(formula_, sample).ok();
    there.Add(tick.length, is_sound);
    Keep(*tick.before, sample.clocks, is_sound);
  }
  total_.Add(formula_, over_, sample, piece);
  total_there_.Add(there);
  ++samples_;
  if (AsksForSamples(interval, /*is_thinned=*/false)) {
    if (!formula_.uses_two_samples()) AddGapBetween(last, time);
    if (tick.length > 0) AddThereOfPoint(grid_.WindowOf(time), there);
    return AddPerSample(sample, piece);
  }
  if (formula_.uses_two_samples() && !piece.has_value()) return;
  BeginWindows(last, time);
  Window& window = WindowAt(grid_.WindowOf(time));
  window.accumulator.Add(formula_, over_, sample, piece);
  window.there.Add(there);
  NoteNewest(sample, interval, &window);
}

void RangeEvaluator::AddRising(const SeriesRun& run,
                               const TickIntervals& intervals,
                               const RunGrowth& growth) {
  const FrameTicks& ticks = intervals.ticks();
  const bool per_sample = AsksForSamples(run.interval(), /*is_thinned=*/false);
  Grown grown;
  const auto add_each = [&](uint32_t first, uint32_t end) {
    AddToTotal(run, ticks, &grown);
    AddEach(run, ticks, first, end);
  };
  ForEachStretch(run, intervals.stretches(),
                 [&](const Stretch& stretch, uint32_t first, uint32_t end) {
                   // The first tick of a run or stretch depends on the tick
                   // before it, and the next ones on an earlier fall.
                   bool depends = first == 0 || !stretch.link.has_value();
                   while (first < end && (depends || end_.has_fallen())) {
                     depends = false;
                     needs_samples_ |= run.SamplesIn(first, first + 1) > 1;
                     add_each(first, first + 1);
                     ++first;
                   }
                   while (first < end) {
                     // Samples are added one by one if each yields a point.
                     const uint32_t next = per_sample ? first + 1 : end;
                     if (!AddGrown(run, stretch, growth, first, next, &grown)) {
                       add_each(first, next);
                     }
                     first = next;
                   }
                 });
  AddToTotal(run, ticks, &grown);
}

bool RangeEvaluator::AddGrown(const SeriesRun& run, const Stretch& stretch,
                              const RunGrowth& growth, uint32_t first,
                              uint32_t end, Grown* grown) {
  const std::optional<Growth> of_ticks = growth.Between(first - 1, end - 1);
  if (!of_ticks.has_value()) return false;
  grown->end = end;
  if (stretch.is_before) return true;
  const perflib::Clocks& before = run.clocks(first - 1);
  const perflib::Clocks& newest = run.clocks(end - 1);
  const WindowAccumulator::Pieces pieces = {
      .growth = *of_ticks,
      .count = run.SamplesIn(first, end),
      .start = perflib::TimeOf(before),
      .length = ClockLength(before, newest),
      .longest = LongestPiece(run, stretch, first, end)};
  TimeThere there;
  there.Add(absl::ToInt64Nanoseconds(pieces.length), /*is_sound=*/true);
  Keep(before, newest, /*is_sound=*/true);
  WindowAccumulator::Pieces& total = grown->pieces;
  if (total.count == 0) total.start = pieces.start;
  AddGrowth(formula_, pieces.growth, &total.growth);
  total.count += pieces.count;
  total.length += pieces.length;
  total.longest = std::max(total.longest, pieces.longest);
  grown->there.Add(there);
  if (AsksForSamples(run.interval(), /*is_thinned=*/false)) {
    is_per_sample_ = true;
    AddThereOfPoint(stretch.window, there);
    points_.push_back({perflib::TimeOf(newest),
                       {.result = CalculateGrowth(formula_, *of_ticks)}});
  } else {
    Window& window = WindowAt(stretch.window);
    window.accumulator.AddPieces(formula_, pieces);
    window.there.Add(there);
  }
  return true;
}

void RangeEvaluator::AddToTotal(const SeriesRun& run, const FrameTicks& ticks,
                                Grown* grown) {
  if (grown->end == 0) return;
  end_.Set(run.Sample(grown->end - 1));
  last_number_ = ticks.NumberOf(run.first_tick() + grown->end - 1);
  interval_ = run.interval();
  if (grown->pieces.count > 0) {
    collection_interval_ = interval_;
    samples_ += grown->pieces.count;
    total_.AddPieces(formula_, grown->pieces);
    total_there_.Add(grown->there);
  }
  *grown = {};
}

void RangeEvaluator::AddRaw(const SeriesRun& run, const FrameTicks& ticks,
                            absl::Span<const uint64_t> values,
                            const Stretch& stretch, uint32_t first,
                            uint32_t end) {
  const std::optional<absl::Time> last = this->newest();
  const RawSample sample = run.Sample(end - 1);
  end_.Set(sample);
  interval_ = run.interval();
  if (stretch.is_before) return;
  collection_interval_ = interval_;
  const uint64_t count = run.SamplesIn(first, end);
  samples_ += count;
  BeginWindows(last, perflib::TimeOf(run.clocks(first)));
  const bool is_constant = values.size() == 1;
  Summary summary =
      SummarizeRaw(formula_, over_,
                   is_constant ? values : values.subspan(first, end - first),
                   count, end == run.ticks() ? run.FoldedTotal() : nullptr);
  const absl::Duration between =
      ClockLength(run.clocks(first), run.clocks(end - 1));
  const Tick tick = TickOf(run, ticks, first);
  Keep(tick.length > 0 ? *tick.before : run.clocks(first), sample.clocks,
       /*is_sound=*/true);
  summary.there.Add(tick.length + absl::ToInt64Nanoseconds(between),
                    /*is_sound=*/true);
  AddSummary(summary, sample, run.interval(), stretch.window);
}

void RangeEvaluator::AddThinned(const SeriesRun& run, const FrameTicks& ticks) {
  const std::vector<Summary> summaries = run.Summaries(formula_);
  for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
    const RawSample sample = run.Sample(tick);
    const absl::Time time = TimeOf(sample);
    if (time > grid_.end) continue;
    ForgetEarlier(time, run.interval());
    Summary summary = WithNewLife(formula_, end_.sample(), sample,
                                  run.is_born(), summaries[tick]);
    const std::optional<absl::Time> last = newest();
    end_.Set(sample, summaries[tick].has_fallen);
    // The life may have ended before the tick.
    last_number_ =
        sample.value.has_value() ? ticks.NumberOf(run.first_tick() + tick) : 0;
    interval_ = run.interval();
    if (time <= grid_.start) continue;
    collection_interval_ = run.collection_interval();
    ++samples_;
    if (!AsksForSamples(run.interval(), /*is_thinned=*/true)) {
      if (!summary.empty()) BeginWindows(last, time);
      AddSummary(summary, sample, run.collection_interval(),
                 grid_.WindowOf(time));
      continue;
    }
    total_.AddSummary(formula_, over_, summary, sample);
    total_there_.Add(summary.there);
    AddThereOfPoint(grid_.WindowOf(time), summary.there);
    AddThinnedPoint(run, summary, sample, last,
                    ticks.LengthTo(run.first_tick() + tick));
  }
}

void RangeEvaluator::AddThinnedPoint(const SeriesRun& run,
                                     const Summary& summary,
                                     const RawSample& sample,
                                     std::optional<absl::Time> last,
                                     int64_t length) {
  const absl::Duration interval = run.interval();
  const absl::Time time = TimeOf(sample);
  const absl::Time end = CeilTime(time, interval);
  const bool is_new_tick = last != time;
  if (last.has_value()) last = CeilTime(*last, interval);
  AddGapBetween(last, end);
  is_per_sample_ = true;
  // One minute may have two ticks, or two lives.
  const bool is_new_end = of_tick_end_ != end;
  if (is_new_end) {
    of_tick_ = WindowAccumulator();
    of_tick_there_ = {};
    of_tick_length_ = 0;
    of_tick_end_ = end;
  }
  if (is_new_end || is_new_tick) of_tick_length_ += length;
  if (summary.empty()) return;
  const absl::Time label = std::min(end, grid_.end);
  if (points_.empty() || points_.back().time != label) {
    points_.push_back({.time = label});
  }
  of_tick_.AddSummary(formula_, over_, summary, sample);
  of_tick_there_.Add(summary.there);
  WindowValue& value = points_.back().value;
  value = of_tick_.Finish(formula_, over_, end, interval);
  value.presence = of_tick_there_.PresenceIn(of_tick_length_);
}

void RangeEvaluator::AddSummary(const Summary& summary, const RawSample& sample,
                                absl::Duration collection_interval,
                                int64_t window) {
  total_.AddSummary(formula_, over_, summary, sample);
  total_there_.Add(summary.there);
  if (summary.empty()) return;
  Window& to = WindowAt(window);
  to.accumulator.AddSummary(formula_, over_, summary, sample);
  to.there.Add(summary.there);
  NoteNewest(sample, collection_interval, &to);
}

RangeEvaluator::Window& RangeEvaluator::WindowAt(int64_t number) {
  const bool follows_samples = std::exchange(is_per_sample_, false);
  // Nearly always the next window, or else the last one.
  if (windows_.empty() || windows_.back().number < number) {
    Window& window = windows_.emplace_back();  // without a copy
    window.number = number;
    window.follows_samples = follows_samples;
    return window;
  }
  const auto at = FindWindow(number);
  if (at != windows_.end() && at->number == number) return *at;
  return *windows_.insert(
      at, Window{.number = number, .follows_samples = follows_samples});
}

std::vector<RangeEvaluator::Window>::iterator RangeEvaluator::FindWindow(
    int64_t number) {
  auto at = windows_.end();
  while (at != windows_.begin() && std::prev(at)->number >= number) --at;
  return at;
}

void RangeEvaluator::AddThereOfPoint(int64_t window, const TimeThere& there) {
  all_of_points_.Add(window, there.all);
  sound_of_points_.Add(window, there.sound);
}

TimeThere RangeEvaluator::ThereIn(const Window& window) const {
  TimeThere there = window.there;
  there.Add({.all = all_of_points_.Of(window.number),
             .sound = sound_of_points_.Of(window.number)});
  return there;
}

void RangeEvaluator::NoteNewest(const RawSample& sample,
                                absl::Duration interval, Window* window) const {
  if (formula_.uses_two_samples()) return;
  window->newest_value = CalculateSample(formula_, sample);
  window->holds_until = TimeOf(sample) + interval * kMaxIntervalsApart;
}

void RangeEvaluator::AddPerSample(const RawSample& sample,
                                  const std::optional<Piece>& piece) {
  is_per_sample_ = true;
  points_.push_back(
      {TimeOf(sample), {.result = ValueOfSample(formula_, sample, piece)}});
}

// Two samples with a gap between them have a piece with the gap. If samples
// yield points and have no pieces, the gap needs a point of its own.
void RangeEvaluator::AddGapBetween(std::optional<absl::Time> last,
                                   absl::Time time) {
  if (!last.has_value() || *last <= grid_.start ||
      time - *last <= interval_ * kMaxIntervalsApart) {
    return;
  }
  points_.push_back({*last + interval_, NoSamples()});
}

void RangeEvaluator::BeginWindows(std::optional<absl::Time> last,
                                  absl::Time time) {
  if (is_per_sample_ && !formula_.uses_two_samples()) AddGapBetween(last, time);
}

void RangeEvaluator::ForgetEarlier(absl::Time time, absl::Duration interval) {
  const std::optional<absl::Time> last = newest();
  if (time > grid_.start && last.has_value() &&
      *last < grid_.start - interval * kMaxIntervalsBefore) {
    end_ = {};
  }
}

std::optional<absl::Time> RangeEvaluator::newest() const {
  if (!end_.sample().has_value()) return std::nullopt;
  return TimeOf(*end_.sample());
}

WindowValue RangeEvaluator::Total(const IntervalTimes& times) const {
  WindowValue total =
      total_.Finish(formula_, over_, grid_.end, grid_.end - grid_.start);
  if (total.result.ok()) {
    total.presence = total_there_.PresenceIn(times.total());
    if (!formula_.uses_two_samples()) total.coverage = CoverageOfSamples();
  }
  if (total_.empty() && samples_ > 0) {
    total.result = CalculatedValue::Of(ValueStatus::kNeedTwoSamples);
  }
  return total;
}

double RangeEvaluator::CoverageOfSamples() const {
  const absl::Duration length = grid_.end - grid_.start;
  absl::Duration covered = absl::Nanoseconds(total_there_.sound);
  if (covered == absl::ZeroDuration()) covered = collection_interval_;
  if (length - covered < collection_interval_ * kMaxIntervalsApart) {
    return 1;
  }
  return PartOf(absl::ToInt64Nanoseconds(covered),
                absl::ToInt64Nanoseconds(length));
}

std::vector<Point> RangeEvaluator::Finish(bool goes_on,
                                          const std::vector<Loss>& losses,
                                          const IntervalTimes& times) {
  if (samples_ == 0) return {};
  std::vector<Point> points;
  if (grid_.step == absl::ZeroDuration()) {
    points.push_back({grid_.end, Total(times)});
  } else {
    FinishSamples(goes_on && is_per_sample_);
    points = std::move(points_);
    FinishWindows(goes_on, times, &points);
    const auto is_earlier = [](const Point& a, const Point& b) {
      return a.time < b.time;
    };
    if (!std::is_sorted(points.begin(), points.end(), is_earlier)) {
      std::stable_sort(points.begin(), points.end(), is_earlier);
    }
  }
  if (losses.empty()) return points;
  absl::Time start = grid_.start;
  for (Point& point : points) {
    Explain(start, point.time, losses, &point.value);
    start = point.time;
  }
  return points;
}

absl::Time RangeEvaluator::EndOf(int64_t window) const {
  return window > windows_of_grid_ ? grid_.end : grid_.EndOf(window);
}

// Series that are sampled at different times could not be combined in a rest
// that is shorter than the time between their samples.
bool RangeEvaluator::ShowsRest() const {
  return grid_.end - grid_.EndOf(windows_of_grid_) >=
         collection_interval_ * kMaxIntervalsApart;
}

void RangeEvaluator::FinishWindows(bool goes_on, const IntervalTimes& times,
                                   std::vector<Point>* points) const {
  if (windows_.empty()) return;
  points->reserve(points->size() +
                  static_cast<size_t>(windows_.back().number -
                                      windows_.front().number + 1));
  const absl::Duration length = grid_.length();
  int64_t last = windows_.front().number - 1;
  absl::Time end = EndOf(last);
  const auto add = [&](int64_t number, WindowValue value,
                       const TimeThere& there) {
    if (number > windows_of_grid_ && !ShowsRest()) return;
    if (value.result.ok()) value.presence = there.PresenceIn(times.Of(number));
    points->push_back({end, std::move(value), number > windows_of_grid_});
  };
  for (auto window = windows_.begin(); window != windows_.end(); ++window) {
    const int64_t number = window->number;
    // EndOf multiplies, which takes longer.
    end = number == last + 1 && number <= windows_of_grid_ ? end + length
                                                           : EndOf(number);
    const absl::Duration own_length = number > windows_of_grid_
                                          ? end - grid_.EndOf(windows_of_grid_)
                                          : length;
    add(number, window->accumulator.Finish(formula_, over_, end, own_length),
        ThereIn(*window));
    // Windows without samples follow.
    const auto next = std::next(window);
    last = number;
    if (next == windows_.end()) {
      if (goes_on && !is_per_sample_) last = windows_of_grid_;
    } else if (!next->follows_samples) {
      last = next->number - 1;
    }
    bool holds = !formula_.uses_two_samples();
    for (int64_t missing = number + 1; missing <= last; ++missing) {
      end += length;
      // A tick without the series shows that its instance has ended.
      holds = holds && end <= window->holds_until && times.Of(missing) == 0;
      add(missing, holds ? HeldValue(*window) : NoSamples(), {});
    }
  }
}

WindowValue RangeEvaluator::HeldValue(const Window& last) {
  return {.result = last.newest_value,
          .coverage = last.newest_value.ok() ? 1.0 : 0.0};
}

void RangeEvaluator::FinishSamples(bool goes_on) {
  if (goes_on && !points_.empty() &&
      grid_.end - *newest() > interval_ * kMaxIntervalsApart) {
    points_.push_back({grid_.end, NoSamples()});
  }
}

}  // namespace fleetperf::aggregator
