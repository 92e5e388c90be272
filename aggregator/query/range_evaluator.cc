#include "aggregator/query/range_evaluator.h"

#include <algorithm>
#include <utility>

namespace fleetperf::aggregator {
namespace {

// Whether the values never decrease.
bool IsRising(absl::Span<const uint64_t> values) {
  bool falls = false;
  for (size_t i = 1; i < values.size(); ++i) {
    falls |= values[i] < values[i - 1];
  }
  return !falls;
}

// Returns the longest of the pieces that end in the run's ticks in the stretch.
absl::Duration LongestPiece(const SeriesRun& run, const Stretch& stretch,
                            uint32_t first, uint32_t end) {
  const uint32_t begin = run.first_tick();
  if (begin + end == stretch.last + 1 && begin + first <= stretch.first + 1) {
    const bool has_link = begin + first == stretch.first;
    return absl::Nanoseconds(
        std::max(has_link ? stretch.link.value_or(0) : 0, stretch.longest));
  }
  absl::Duration longest;
  for (uint32_t tick = first; tick < end; ++tick) {
    longest =
        std::max(longest, ClockLength(run.clocks(tick - 1), run.clocks(tick)));
  }
  return longest;
}

// Thinned data cover one life each. Detects the start of another life, unless
// it is born.
Summary WithNewLife(const CounterFormula& formula,
                    const std::optional<RawSample>& older,
                    const RawSample& newer, bool is_born,
                    const Summary& of_life) {
  if (!formula.uses_two_samples() || !older.has_value() || is_born ||
      older->life == newer.life) {
    return of_life;
  }
  Summary summary;
  summary.AddPiece(formula,
                   MakePiece(formula, *older, newer, absl::ZeroDuration()));
  summary.Add(formula, of_life);
  return summary;
}

// Returns the sum of `count` equal raw values, or of `values`.
Summary SummarizeRaw(const CounterFormula& formula, Over over,
                     absl::Span<const uint64_t> values, uint64_t count) {
  Summary summary = {.pieces = count, .values = count};
  const auto extreme = [&](uint64_t value) {
    const Growth growth = {.value = value};
    return Summary::Extreme{growth, CalculateExtreme(formula, growth).value};
  };
  switch (over) {
    case Over::kMinimum:
      summary.smallest =
          extreme(*std::min_element(values.begin(), values.end()));
      break;
    case Over::kMaximum:
      summary.largest =
          extreme(*std::max_element(values.begin(), values.end()));
      break;
    case Over::kLast:
      break;
    case Over::kFormula:
    case Over::kAverage:
    case Over::kSum: {
      // Summed in two halves, which cannot overflow.
      uint64_t low = 0;
      uint64_t high = 0;
      for (const uint64_t value : values) {
        low += value & UINT32_MAX;
        high += value >> 32;
      }
      summary.growth.value = (absl::uint128(high) << 32) + low;
      if (values.size() == 1) summary.growth.value *= count;
      break;
    }
  }
  return summary;
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

void RangeEvaluator::Add(const SeriesRun& run, const TickIntervals& intervals) {
  const FrameTicks& ticks = intervals.ticks();
  const std::vector<Stretch>& stretches = intervals.stretches();
  if (newest_life_ != run.life() && run.is_born()) BeginLife(run, ticks);
  newest_life_ = run.life();
  if (run.is_thinned()) return AddThinned(run, ticks);
  if (!per_sample_.has_value()) per_sample_ = AsksForSamples(run.interval());
  const uint32_t begin = run.first_tick();
  const uint32_t end = begin + run.ticks();
  const std::optional<absl::Span<const uint64_t>> values = run.Values();
  const bool is_raw = formula_.formula == perflib::Formula::kRaw;
  const bool is_growth = formula_.uses_two_samples() && over_ == Over::kFormula;
  const bool together =
      values.has_value() &&
      ((is_raw && !*per_sample_) ||
       (is_growth && IsRising(*values) && run.Denominators().has_value() &&
        IsRising(*run.Denominators())));
  if (!together) return AddEach(run, ticks, 0, run.ticks());
  auto stretch = std::partition_point(
      stretches.begin(), stretches.end(),
      [&](const Stretch& one) { return one.last < begin; });
  if (windows_.capacity() == 0 && !*per_sample_) {
    windows_.reserve(std::min<size_t>(
        {run.ticks(), static_cast<size_t>(stretches.end() - stretch),
         static_cast<size_t>(windows_of_grid_)}));
  }
  for (; stretch != stretches.end() && stretch->first < end; ++stretch) {
    if (stretch->is_behind) continue;
    uint32_t first = std::max(stretch->first, begin) - begin;
    const uint32_t stretch_end = std::min(stretch->last + 1, end) - begin;
    if (is_raw) {
      AddRaw(run, ticks, *values, *stretch, first, stretch_end);
      continue;
    }
    // The first tick of a run or stretch depends on the tick before it.
    if (first == 0 || !stretch->link.has_value()) {
      AddEach(run, ticks, first, first + 1);
      ++first;
    }
    while (first < stretch_end) {
      // Samples are added one by one if each yields a point.
      const uint32_t next = *per_sample_ ? first + 1 : stretch_end;
      if (!AddGrown(run, ticks, *stretch, first, next)) {
        AddEach(run, ticks, first, next);
      }
      first = next;
    }
  }
}

// The first sample of a born instance ends a piece that grew from 0, unless the
// clocks have a break before it.
void RangeEvaluator::BeginLife(const SeriesRun& run, const FrameTicks& ticks) {
  if (run.is_thinned() || !formula_.uses_two_samples()) return;
  if (TimeOf(run.clocks(0)) > grid_.end) return;
  const uint32_t first = run.first_tick();
  if (ticks.LengthTo(first) == 0) return;
  last_ = BeforeBirth(run.Sample(0), ticks.ClocksBefore(first));
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
  if (!per_sample_.has_value()) per_sample_ = AsksForSamples(interval);
  const std::optional<Piece> piece = PieceTo(formula_, last_, sample, interval);
  const absl::Time time = TimeOf(sample);
  if (time > grid_.end) return;
  last_ = sample;
  last_number_ = tick.number;
  interval_ = interval;
  if (time <= grid_.start) return;

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
  if (*per_sample_) return AddPerSample(sample, piece);
  if (formula_.uses_two_samples() && !piece.has_value()) return;
  const int64_t number = grid_.WindowOf(time);
  if (number > windows_of_grid_) return;  // in the incomplete last window
  Window& window = WindowAt(number);
  window.accumulator.Add(formula_, over_, sample, piece);
  window.there.Add(there);
  NoteNewest(sample, interval, &window);
}

bool RangeEvaluator::AddGrown(const SeriesRun& run, const FrameTicks& ticks,
                              const Stretch& stretch, uint32_t first,
                              uint32_t end) {
  const RawSample newest = run.Sample(end - 1);
  const GrowthOrStatus growth = GrowthBetween(formula_, *last_, newest);
  if (growth.status != ValueStatus::kOk) return false;
  const WindowAccumulator::Pieces pieces = {
      .growth = growth.growth,
      .count = end - first,
      .start = TimeOf(*last_),
      .length = ClockLength(last_->clocks, newest.clocks),
      .longest = LongestPiece(run, stretch, first, end)};
  const perflib::Clocks before = last_->clocks;
  last_ = newest;
  last_number_ = ticks.NumberOf(run.first_tick() + end - 1);
  interval_ = run.interval();
  if (stretch.is_before) return true;
  samples_ += pieces.count;
  total_.AddPieces(formula_, pieces);
  TimeThere there;
  there.Add(absl::ToInt64Nanoseconds(pieces.length), /*is_sound=*/true);
  Keep(before, newest.clocks, /*is_sound=*/true);
  total_there_.Add(there);
  if (*per_sample_) {
    points_.push_back(
        {TimeOf(newest), {.result = CalculateGrowth(formula_, growth.growth)}});
  } else if (stretch.window <= windows_of_grid_) {
    Window& window = WindowAt(stretch.window);
    window.accumulator.AddPieces(formula_, pieces);
    window.there.Add(there);
  }
  return true;
}

void RangeEvaluator::AddRaw(const SeriesRun& run, const FrameTicks& ticks,
                            absl::Span<const uint64_t> values,
                            const Stretch& stretch, uint32_t first,
                            uint32_t end) {
  last_ = run.Sample(end - 1);
  interval_ = run.interval();
  if (stretch.is_before) return;
  samples_ += end - first;
  const bool is_constant = values.size() == 1;
  Summary summary = SummarizeRaw(
      formula_, over_,
      is_constant ? values : values.subspan(first, end - first), end - first);
  const absl::Duration between =
      ClockLength(run.clocks(first), run.clocks(end - 1));
  const Tick tick = TickOf(run, ticks, first);
  Keep(tick.length > 0 ? *tick.before : run.clocks(first), last_->clocks,
       /*is_sound=*/true);
  summary.there.Add(tick.length + absl::ToInt64Nanoseconds(between),
                    /*is_sound=*/true);
  AddSummary(summary, *last_, run.interval(), stretch.window);
}

void RangeEvaluator::AddThinned(const SeriesRun& run, const FrameTicks& ticks) {
  const std::vector<Summary> summaries = run.Summaries(formula_);
  for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
    const RawSample sample = run.Sample(tick);
    const absl::Time time = TimeOf(sample);
    if (time > grid_.end) continue;
    Summary summary =
        WithNewLife(formula_, last_, sample, run.is_born(), summaries[tick]);
    last_ = sample;
    // The life may have ended before the tick.
    last_number_ =
        sample.value.has_value() ? ticks.NumberOf(run.first_tick() + tick) : 0;
    interval_ = run.interval();
    if (time <= grid_.start) continue;
    ++samples_;
    if (!AsksForSamples(run.interval())) {
      AddSummary(summary, sample, run.collection_interval(),
                 grid_.WindowOf(time));
      continue;
    }
    total_.AddSummary(formula_, over_, summary, sample);
    total_there_.Add(summary.there);
    AddGapBefore(time);
    if (summary.empty()) continue;
    // One minute may contain two lives.
    if (points_.empty() || points_.back().time != time) {
      of_tick_ = WindowAccumulator();
      of_tick_there_ = {};
      points_.push_back({.time = time});
    }
    of_tick_.AddSummary(formula_, over_, summary, sample);
    of_tick_there_.Add(summary.there);
    WindowValue& value = points_.back().value;
    value = of_tick_.Finish(formula_, over_, time, run.interval());
    value.presence =
        of_tick_there_.PresenceIn(ticks.LengthTo(run.first_tick() + tick));
  }
}

void RangeEvaluator::AddSummary(const Summary& summary, const RawSample& sample,
                                absl::Duration collection_interval,
                                int64_t window) {
  total_.AddSummary(formula_, over_, summary, sample);
  total_there_.Add(summary.there);
  if (summary.empty() || window > windows_of_grid_) return;
  Window& to = WindowAt(window);
  to.accumulator.AddSummary(formula_, over_, summary, sample);
  to.there.Add(summary.there);
  NoteNewest(sample, collection_interval, &to);
}

RangeEvaluator::Window& RangeEvaluator::WindowAt(int64_t number) {
  // Nearly always the last window or the next one.
  if (windows_.empty() || windows_.back().number < number) {
    return windows_.emplace_back(Window{.number = number});
  }
  auto at = std::prev(windows_.end());
  while (at != windows_.begin() && std::prev(at)->number >= number) --at;
  if (at->number != number) {
    at = windows_.insert(at, Window{.number = number});
  }
  return *at;
}

void RangeEvaluator::NoteNewest(const RawSample& sample,
                                absl::Duration interval, Window* window) const {
  if (formula_.uses_two_samples()) return;
  window->newest_value = CalculateSample(formula_, sample);
  window->holds_until = TimeOf(sample) + interval * kMaxIntervalsApart;
}

void RangeEvaluator::AddPerSample(const RawSample& sample,
                                  const std::optional<Piece>& piece) {
  if (!formula_.uses_two_samples()) AddGapBefore(TimeOf(sample));
  points_.push_back(
      {TimeOf(sample), {.result = ValueOfSample(formula_, sample, piece)}});
}

// Two samples with a gap between them have a piece with the gap. If each sample
// yields a point, the gap needs a point of its own.
void RangeEvaluator::AddGapBefore(absl::Time time) {
  if (points_.empty()) return;
  const absl::Time last = points_.back().time;
  if (time - last <= interval_ * kMaxIntervalsApart) return;
  points_.push_back({last + interval_, NoSamples()});
}

std::optional<absl::Time> RangeEvaluator::newest() const {
  if (!last_.has_value()) return std::nullopt;
  return TimeOf(*last_);
}

WindowValue RangeEvaluator::Total(const IntervalTimes& times) const {
  WindowValue total =
      total_.Finish(formula_, over_, grid_.end, grid_.end - grid_.start);
  if (total.result.ok()) {
    total.presence = total_there_.PresenceIn(times.total());
  }
  if (total_.empty() && samples_ > 0) {
    total.result = CalculatedValue::Of(ValueStatus::kNeedTwoSamples);
  }
  return total;
}

std::vector<Point> RangeEvaluator::Finish(bool goes_on,
                                          const std::vector<Loss>& losses,
                                          const IntervalTimes& times) {
  if (samples_ == 0) return {};
  std::vector<Point> points;
  if (grid_.step == absl::ZeroDuration()) {
    points.push_back({grid_.end, Total(times)});
  } else {
    // Old, thinned samples yield a point each; later samples are in windows.
    FinishSamples(goes_on && windows_.empty());
    points = std::move(points_);
    const size_t of_samples = points.size();
    FinishWindows(goes_on, times, &points);
    if (of_samples > 0 && of_samples < points.size()) {
      std::stable_sort(
          points.begin(), points.end(),
          [](const Point& a, const Point& b) { return a.time < b.time; });
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

void RangeEvaluator::FinishWindows(bool goes_on, const IntervalTimes& times,
                                   std::vector<Point>* points) const {
  if (windows_.empty()) return;
  const int64_t first = windows_.front().number;
  const int64_t last = goes_on ? windows_of_grid_ : windows_.back().number;
  points->reserve(points->size() + static_cast<size_t>(last - first + 1));
  const absl::Duration length = grid_.length();
  absl::Time end = grid_.EndOf(first);
  auto next = windows_.begin();
  for (int64_t number = first; number <= last; ++number, end += length) {
    TimeThere there;
    if (next != windows_.end() && next->number == number) {
      points->push_back(
          {end, next->accumulator.Finish(formula_, over_, end, length)});
      there = next->there;
      ++next;
    } else {
      points->push_back({end, ValueWithoutSamples(*std::prev(next), end)});
    }
    WindowValue& value = points->back().value;
    if (value.result.ok()) value.presence = there.PresenceIn(times.Of(number));
  }
}

// Returns the value of a window that ends at `end`, after `last`, the last
// window with samples.
WindowValue RangeEvaluator::ValueWithoutSamples(const Window& last,
                                                absl::Time end) const {
  if (formula_.uses_two_samples() || end > last.holds_until) {
    return NoSamples();
  }
  // The newest sample is still valid at the end.
  return {.result = last.newest_value,
          .coverage = last.newest_value.ok() ? 1.0 : 0.0};
}

void RangeEvaluator::FinishSamples(bool goes_on) {
  if (goes_on && !points_.empty() &&
      grid_.end - points_.back().time > interval_ * kMaxIntervalsApart) {
    points_.push_back({grid_.end, NoSamples()});
  }
}

}  // namespace fleetperf::aggregator
