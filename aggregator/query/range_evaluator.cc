#include "aggregator/query/range_evaluator.h"

#include <algorithm>
#include <utility>

#include "absl/numeric/int128.h"
#include "values/clock_check.h"
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

std::optional<absl::Time> TimeOf(const RawSample* sample) {
  if (sample == nullptr) return std::nullopt;
  return fleetperf::TimeOf(*sample);
}

// Returns the sum, or the extreme that `over` needs, of the samples of a gauge.
Summary SummarizeGauges(const CounterFormula& formula, Over over,
                        const WalkedGauges& gauges) {
  const FrameColumn::Total* const total = gauges.total;
  const uint64_t count = gauges.count;
  absl::Span<const uint64_t> values = gauges.values;
  Summary summary = {.pieces = count, .values = count};
  const auto extreme = [&](uint64_t value) {
    const Growth growth = {.value = value};
    return Summary::Extreme{growth, CalculateExtreme(formula, growth).value};
  };
  switch (over) {
    case Over::kMinimum: {
      const uint64_t smallest = *std::min_element(values.begin(), values.end());
      summary.smallest = extreme(
          total == nullptr ? smallest : std::min(smallest, total->smallest));
      break;
    }
    case Over::kMaximum: {
      const uint64_t largest = *std::max_element(values.begin(), values.end());
      summary.largest = extreme(
          total == nullptr ? largest : std::max(largest, total->largest));
      break;
    }
    case Over::kLast:
      break;
    case Over::kFormula:
    case Over::kAverage:
    case Over::kSum: {
      if (total != nullptr) values.remove_suffix(1);
      // Summed in two halves, which cannot overflow.
      uint64_t low = 0;
      uint64_t high = 0;
      for (const uint64_t value : values) {
        low += value & UINT32_MAX;
        high += value >> 32;
      }
      summary.growth.value = (absl::uint128(high) << 32) + low;
      if (total != nullptr) {
        summary.growth.value += total->sum;
      } else if (values.size() == 1) {
        summary.growth.value *= count;
      }
      break;
    }
  }
  return summary;
}

// Makes room for more elements. At least doubles the capacity, so that later
// runs seldom reallocate.
template <typename Element>
void Reserve(size_t more, std::vector<Element>* to) {
  const size_t needed = to->size() + more;
  if (needed <= to->capacity()) return;
  to->reserve(std::max(needed, 2 * to->capacity()));
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
  const Walker& walker = intervals.walker();
  if (std::find(queries_.begin(), queries_.end(), walker.query()) ==
      queries_.end()) {
    queries_.push_back(walker.query());
  }
  if (run.is_thinned()) {
    return walker.ForEachSummary(
        formula_, run, &series_,
        [&](const WalkedSummary& walked) { OnSummary(walked, run); });
  }
  const std::vector<Stretch>& stretches = intervals.stretches();
  if (AsksForSamples(run.interval(), /*is_thinned=*/false)) {
    Reserve(run.ticks(), &points_);
  } else {
    Reserve(std::min({size_t{run.ticks()}, stretches.size(),
                      static_cast<size_t>(windows_of_grid_)}),
            &windows_);
  }
  walker.ForEachStretch(formula_, run, stretches, JoiningOf(run.interval()),
                        &series_, this);
}

void RangeEvaluator::Add(const RawSample& sample, absl::Duration interval) {
  Walker(grid_.start, grid_.end)
      .TakeSample(formula_, sample, interval, &series_,
                  [&](const WalkedSample& walked) { OnSample(walked); });
}

Joining RangeEvaluator::JoiningOf(absl::Duration interval) const {
  const bool per_sample = AsksForSamples(interval, /*is_thinned=*/false);
  if (!formula_.uses_two_samples()) {
    return per_sample ? Joining::kNone : Joining::kStretches;
  }
  if (over_ != Over::kFormula) return Joining::kNone;
  return per_sample ? Joining::kPieces : Joining::kStretches;
}

void RangeEvaluator::Keep(const perflib::Clocks& older,
                          const perflib::Clocks& newer, bool is_sound) {
  if (!keeps_intervals_) return;
  IntervalSet& set = is_sound ? there_.sound : there_.broken;
  set.Add(grid_.WindowOf(perflib::TimeOf(newer)), older, newer);
}

void RangeEvaluator::OnSample(const WalkedSample& walked) {
  const RawSample& sample = walked.sample;
  interval_ = collection_interval_ = walked.interval;
  TimeThere there;
  if (walked.tick_interval.length > 0) {
    const bool is_sound = walked.IsSound(formula_);
    there.Add(walked.tick_interval.length, is_sound);
    Keep(*walked.tick_interval.start, sample.clocks, is_sound);
  }
  total_.Add(formula_, over_, sample, walked.piece);
  total_there_.Add(there);
  ++samples_;
  const absl::Time time = fleetperf::TimeOf(sample);
  if (AsksForSamples(walked.interval, /*is_thinned=*/false)) {
    if (!formula_.uses_two_samples()) AddGapBetween(TimeOf(walked.older), time);
    if (walked.tick_interval.length > 0)
      AddThereOfPoint(grid_.WindowOf(time), there);
    return AddPerSample(sample, walked.piece);
  }
  if (formula_.uses_two_samples() && !walked.piece.has_value()) return;
  if (!has_windows()) return;
  BeginWindows(walked.older, time);
  Window& window = WindowAt(grid_.WindowOf(time));
  window.accumulator.Add(formula_, over_, sample, walked.piece);
  window.there.Add(there);
  NoteNewest(sample, walked.interval, &window);
}

void RangeEvaluator::OnPieces(const WalkedPieces& walked) {
  const WindowAccumulator::Pieces& pieces = walked.pieces;
  interval_ = collection_interval_ = walked.interval;
  samples_ += pieces.count;
  TimeThere there;
  there.Add(pieces.length, /*is_sound=*/true);
  Keep(walked.first, walked.last, /*is_sound=*/true);
  total_.AddPieces(formula_, pieces);
  total_there_.Add(there);
  if (AsksForSamples(interval_, /*is_thinned=*/false)) {
    is_per_sample_ = true;
    AddThereOfPoint(walked.stretch.window, there);
    points_.push_back({perflib::TimeOf(walked.last),
                       {.result = CalculateGrowth(formula_, pieces.growth)}});
  } else if (has_windows()) {
    Window& window = WindowAt(walked.stretch.window);
    window.accumulator.AddPieces(formula_, pieces);
    window.there.Add(there);
  }
}

void RangeEvaluator::OnGauges(const WalkedGauges& walked) {
  interval_ = collection_interval_ = walked.interval;
  samples_ += walked.count;
  BeginWindows(walked.older, perflib::TimeOf(walked.first));
  Summary summary = SummarizeGauges(formula_, over_, walked);
  const absl::Duration between =
      ClockLength(walked.first, walked.newest.clocks);
  Keep(walked.tick_interval.length > 0 ? *walked.tick_interval.start
                                       : walked.first,
       walked.newest.clocks, /*is_sound=*/true);
  summary.there.Add(
      walked.tick_interval.length + absl::ToInt64Nanoseconds(between),
      /*is_sound=*/true);
  AddSummary(summary, walked.newest, interval_, walked.stretch.window);
}

void RangeEvaluator::OnSummary(const WalkedSummary& walked,
                               const SeriesRun& run) {
  Summary summary;
  if (walked.life_break.has_value()) {
    summary.breaks = 1;
    summary.problem = CalculatedValue::Gap(*walked.life_break);
  }
  summary.Add(formula_, walked.summary);
  const absl::Time time = fleetperf::TimeOf(walked.newest);
  interval_ = run.interval();
  collection_interval_ = run.collection_interval();
  ++samples_;
  if (!AsksForSamples(run.interval(), /*is_thinned=*/true)) {
    if (!summary.empty()) BeginWindows(walked.older, time);
    return AddSummary(summary, walked.newest, run.collection_interval(),
                      grid_.WindowOf(time));
  }
  total_.AddSummary(formula_, over_, summary, walked.newest);
  total_there_.Add(summary.there);
  AddThereOfPoint(grid_.WindowOf(time), summary.there);
  AddThinnedPoint(walked, summary, run.interval());
}

void RangeEvaluator::AddThinnedPoint(const WalkedSummary& walked,
                                     const Summary& summary,
                                     absl::Duration interval) {
  const absl::Time time = fleetperf::TimeOf(walked.newest);
  const absl::Time end = CeilTime(time, interval);
  std::optional<absl::Time> last = TimeOf(walked.older);
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
  if (is_new_end || is_new_tick) of_tick_length_ += walked.tick_length;
  if (summary.empty()) return;
  const absl::Time label = std::min(end, grid_.end);
  if (points_.empty() || points_.back().time != label) {
    points_.push_back({.time = label});
  }
  of_tick_.AddSummary(formula_, over_, summary, walked.newest);
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
  if (summary.empty() || !has_windows()) return;
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
  window->holds_until =
      fleetperf::TimeOf(sample) + interval * kMaxIntervalsApart;
}

void RangeEvaluator::AddPerSample(const RawSample& sample,
                                  const std::optional<Piece>& piece) {
  is_per_sample_ = true;
  points_.push_back({fleetperf::TimeOf(sample),
                     {.result = ValueOfSample(formula_, sample, piece)}});
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

void RangeEvaluator::BeginWindows(const RawSample* older, absl::Time time) {
  if (is_per_sample_ && !formula_.uses_two_samples()) {
    AddGapBetween(TimeOf(older), time);
  }
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
  if (!has_windows()) {
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
// that is shorter than the time between their samples. Alone, its values are
// shown: of a machine that moved, no other aggregator may have the window.
bool RangeEvaluator::ShowsRest() const {
  return !only_windows_ || grid_.end - grid_.EndOf(windows_of_grid_) >=
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
