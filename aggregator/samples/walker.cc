#include "aggregator/samples/walker.h"

#include <algorithm>

#include "absl/base/attributes.h"
#include "aggregator/samples/run_growth.h"
#include "values/clock_check.h"
#include "values/piece.h"

namespace fleetperf::aggregator {
namespace {

// The limit of lives in the cache of WalkedInstances. Each chunk has instances
// of its own.
constexpr size_t kMaxLives = 10'000;

const RawSample* PointerTo(const std::optional<RawSample>& sample) {
  return sample.has_value() ? &*sample : nullptr;
}

// Calls `use` with each stretch that has ticks of the run, and with the first
// and the end of these ticks.
template <typename Use>
void ForEachStretchOf(const SeriesRun& run, absl::Span<const Stretch> stretches,
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

// In nanoseconds.
int64_t LengthBetween(const SeriesRun& run, uint32_t older, uint32_t newer) {
  return absl::ToInt64Nanoseconds(
      ClockLength(run.clocks(older), run.clocks(newer)));
}

// Sets the lengths of `pieces`, which are those that end in the run's ticks
// in the stretch.
void SetLengths(const SeriesRun& run, const Stretch& stretch, uint32_t first,
                uint32_t end, WindowAccumulator::Pieces* pieces) {
  const uint32_t begin = run.first_tick();
  if (begin + end == stretch.last + 1 && begin + first <= stretch.first + 1) {
    const bool has_link = begin + first == stretch.first;
    const int64_t link = has_link ? stretch.link.value_or(0) : 0;
    const bool has_fold = pieces->count > end - first;
    pieces->length = has_fold ? LengthBetween(run, first - 1, end - 1)
                              : link + stretch.length;
    pieces->longest = std::max(link, stretch.longest);
    return;
  }
  pieces->length = pieces->longest = 0;
  for (uint32_t tick = first; tick < end; ++tick) {
    const int64_t length = LengthBetween(run, tick - 1, tick);
    pieces->length += length;
    pieces->longest = std::max(pieces->longest, length);
  }
}

// Returns whether the run has one value only, that of `sample`, and the series
// did not fall to it.
bool Keeps(const SeriesRun& run, const SeriesEnd& end,
           const RawSample& sample) {
  const auto& last = end.sample();
  if (end.has_fallen() ||
      (last.has_value() && last->value.value > sample.value.value)) {
    return false;
  }
  const auto values = run.Values();
  return values.has_value() && values->size() == 1;
}

// Values of the counter for M may be missing between the ends of a stretch.
bool MayJoinPieces(const CounterFormula& formula) {
  return formula.uses_two_samples() && !NeedsMulti(formula);
}

// Adds samples of a run that the next pieces may depend on.
void FollowSamples(const CounterFormula& formula, const SeriesRun& run,
                   uint32_t first, uint32_t end, SeriesEnd* series) {
  if (end - first > kMaxSamplesRead) {
    first = end - kMaxSamplesRead;
    *series = {};
  }
  // The common cases: counters that just grew have not fallen, and neither has
  // one that the whole run keeps.
  if (end - first > 1) {
    const RawSample older = run.Sample(end - 2);
    const RawSample newer = run.Sample(end - 1);
    if ((newer.value.value > older.value.value || Keeps(run, *series, newer)) &&
        (!newer.denominator.has_value() ||
         newer.denominator.value > older.denominator.value)) {
      return series->Set(newer);
    }
  }
  for (uint32_t tick = first; tick < end; ++tick) {
    const RawSample sample = run.Sample(tick);
    series->PieceTo(formula, sample, run.interval());
    series->MoveTo(sample);
  }
}

}  // namespace

std::optional<absl::Time> WalkedSeries::newest() const {
  if (!end_.sample().has_value()) return std::nullopt;
  return TimeOf(*end_.sample());
}

bool WalkedSeries::IsAt(const SeriesRun& run, uint32_t tick) const {
  const auto& newest = end_.sample();
  return newest.has_value() && newest->life == run.life() &&
         newest->clocks == run.clocks(tick);
}

inline void Walker::ForgetEarlier(int64_t time, absl::Duration interval,
                                  WalkedSeries* series) const {
  const std::optional<RawSample>& last = series->end_.sample();
  if (time <= start_ || !last.has_value() ||
      last->clocks.perf_time_100nsec > start_) {
    return;
  }
  if (TimeOf(*last) < range_start_ - interval * kMaxIntervalsBefore) {
    series->end_ = {};
  }
}

// The ticks of a run are neighbours.
inline TickInterval Walker::IntervalOf(const Walk& walk, uint32_t tick) const {
  const uint32_t of_frame = walk.run.first_tick() + tick;
  const bool is_neighbour =
      tick > 0 || !walk.formula.uses_two_samples() ||
      walk.series.number_ == ticks_->NumberBefore(of_frame);
  return is_neighbour ? IntervalTo(of_frame) : TickInterval();
}

// Once for each sample.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool Walker::Tell(
    const CounterFormula& formula, const RawSample& sample,
    const SampleTick& at, WalkedSeries* series, UseSample use) const {
  const int64_t time = sample.clocks.perf_time_100nsec;
  if (time > end_) return false;
  ForgetEarlier(time, at.interval, series);
  SeriesEnd& end = series->end_;
  const std::optional<Piece> piece = end.PieceTo(formula, sample, at.interval);
  if (time > start_) {
    use({.sample = sample,
         .tick = at.tick,
         .interval = at.interval,
         .older = PointerTo(end.sample()),
         .piece = piece,
         .tick_interval = at.tick_interval,
         .has_fallen = end.has_fallen()});
  }
  end.MoveTo(sample);
  return true;
}

void Walker::ForEachSample(const CounterFormula& formula, const SeriesRun& run,
                           uint32_t first, uint32_t end, WalkedSeries* series,
                           UseSample use) const {
  const Walk walk = {formula, run, *series};
  if (first == 0) BeginRun(walk);
  for (uint32_t tick = first; tick < end; ++tick) TellSample(walk, tick, use);
}

void Walker::ForEachGrowth(const CounterFormula& formula, const SeriesRun& run,
                           uint32_t first, uint32_t end, WalkedSeries* series,
                           UseGrowth use_growth, UseSample use) const {
  const Walk walk = {formula, run, *series};
  if (first == 0) BeginRun(walk);
  if (MayJoinPieces(formula) && !run.is_thinned()) {
    const auto growth = RunGrowth::Of(formula, run, first, end);
    if (growth.has_value()) {
      // The first piece depends on the sample before it, and the next ones on
      // an earlier fall.
      const auto between = [&](uint32_t tick, Growth* grown) {
        return tick > first && !series->end_.has_fallen() &&
               LengthTo(run.first_tick() + tick) > 0 &&
               growth->Between(tick - 1, tick, grown);
      };
      return TellGrowth(walk, first, end, between, use_growth, use);
    }
  }
  if (formula.formula == perflib::Formula::kRaw) {
    const auto values = run.Values();
    if (values.has_value()) {
      const auto value_at = [&](uint32_t tick, Growth* growth) {
        growth->value = values->size() == 1 ? values->front() : (*values)[tick];
        return true;
      };
      return TellGrowth(walk, first, end, value_at, use_growth, use);
    }
  }
  for (uint32_t tick = first; tick < end; ++tick) TellSample(walk, tick, use);
}

void Walker::ForEachSummary(const CounterFormula& formula, const SeriesRun& run,
                            WalkedSeries* series, UseSummary use) const {
  const Walk walk = {formula, run, *series};
  std::vector<Summary> summaries = run.Summaries(formula);
  series->life_ = run.life();
  for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
    const int64_t time = run.clocks(tick).perf_time_100nsec;
    if (time > end_) continue;
    ForgetEarlier(time, run.interval(), series);
    const RawSample* const older = PointerTo(series->end_.sample());
    const RawSample sample = run.Sample(tick);
    if (time > start_) {
      Summary& summary = summaries[tick];
      // Without a break, the first piece begins with the life's sample before.
      if (summary.pieces > 0 && summary.breaks == 0 && older != nullptr &&
          older->life == sample.life) {
        summary.start = TimeOf(*older);
      }
      WalkedSummary walked = {
          .newest = sample,
          .tick = tick,
          .summary = summary,
          .older = older,
          .tick_length = ticks_->LengthTo(run.first_tick() + tick)};
      if (formula.uses_two_samples() && older != nullptr && !run.is_born() &&
          older->life != sample.life) {
        walked.life_break =
            MakePiece(formula, *older, sample, run.interval()).problem.cause;
      }
      use(walked);
    }
    SetEnd(walk, tick, sample);
  }
}

void Walker::ForEachStretch(const CounterFormula& formula, const SeriesRun& run,
                            absl::Span<const Stretch> stretches,
                            Joining joining, WalkedSeries* series,
                            StretchListener* listener) const {
  const Walk walk = {formula, run, *series};
  BeginRun(walk);
  if (joining != Joining::kNone && MayJoinPieces(formula)) {
    const auto growth = RunGrowth::Of(formula, run, 0, run.ticks());
    if (growth.has_value()) {
      return TellPieces(walk, *growth, stretches, joining, listener);
    }
  }
  if (joining == Joining::kStretches &&
      formula.formula == perflib::Formula::kRaw) {
    const auto values = run.Values();
    if (values.has_value()) {
      return TellGauges(walk, *values, stretches, listener);
    }
  }
  for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
    TellSample(walk, tick,
               [&](const WalkedSample& walked) { listener->OnSample(walked); });
  }
}

void Walker::TakeSample(const CounterFormula& formula, const RawSample& sample,
                        absl::Duration interval, WalkedSeries* series,
                        UseSample use) const {
  if (!Tell(formula, sample, {.interval = interval}, series, use)) return;
  series->life_ = sample.life;
  series->number_ = 0;
}

void Walker::Follow(const CounterFormula& formula, const SeriesRun& run,
                    uint32_t first, uint32_t end, WalkedSeries* series) const {
  if (first >= end) return;
  const Walk walk = {formula, run, *series};
  series->life_ = run.life();
  if (run.is_thinned() || !formula.uses_two_samples()) {
    return SetEnd(walk, end - 1, run.Sample(end - 1));
  }
  FollowSamples(formula, run, first, end, &series->end_);
  series->number_ = ticks_->NumberOf(run.first_tick() + end - 1);
}

// The first sample of a born instance ends a piece that grew from 0, unless the
// clocks have a break before it.
void Walker::BeginRun(const Walk& walk) const {
  const auto& [formula, run, series] = walk;
  const bool is_same = series.life_ == run.life();
  series.life_ = run.life();
  if (is_same || !run.is_born() || run.is_thinned() ||
      !formula.uses_two_samples() || run.clocks(0).perf_time_100nsec > end_) {
    return;
  }
  const uint32_t first = run.first_tick();
  if (ticks_->LengthTo(first) == 0) return;
  series.end_.Set(BeforeBirth(run.Sample(0), ticks_->ClocksBefore(first)));
  series.number_ = ticks_->NumberBefore(first);
}

void Walker::TellSample(const Walk& walk, uint32_t tick, UseSample use) const {
  const SeriesRun& run = walk.run;
  if (run.SamplesIn(tick, tick + 1) > 1) walk.series.needs_samples_ = true;
  if (Tell(walk.formula, run.Sample(tick),
           {.interval = run.interval(),
            .tick = tick,
            .tick_interval = IntervalOf(walk, tick)},
           &walk.series, use)) {
    walk.series.number_ = ticks_->NumberOf(run.first_tick() + tick);
  }
}

template <typename GrowthAt>
void Walker::TellGrowth(const Walk& walk, uint32_t first, uint32_t end,
                        const GrowthAt& growth_at, UseGrowth use_growth,
                        UseSample use) const {
  const SeriesRun& run = walk.run;
  bool is_behind = false;  // the series is not at the tick before
  for (uint32_t tick = first; tick < end; ++tick) {
    Growth growth;
    const bool is_quick =
        IsInRange(run.clocks(tick)) && growth_at(tick, &growth);
    if (is_quick) {
      use_growth({.tick = tick,
                  .growth = growth,
                  .tick_length = IntervalOf(walk, tick).length});
    } else {
      if (is_behind) SetEnd(walk, tick - 1, run.Sample(tick - 1));
      TellSample(walk, tick, use);
    }
    is_behind = is_quick;
  }
  if (is_behind) SetEnd(walk, end - 1, run.Sample(end - 1));
}

// In thinned data, the life may have ended before the tick.
void Walker::SetEnd(const Walk& walk, uint32_t tick,
                    const RawSample& sample) const {
  const auto& [formula, run, series] = walk;
  series.end_.Set(sample, run.is_thinned() && run.HasFallen(tick));
  series.number_ = run.is_thinned() && !sample.value.has_value()
                       ? 0
                       : ticks_->NumberOf(run.first_tick() + tick);
}

void Walker::TellPieces(const Walk& walk, const RunGrowth& growth,
                        absl::Span<const Stretch> stretches, Joining joining,
                        StretchListener* listener) const {
  const SeriesRun& run = walk.run;
  // The end of the ticks that the series does not have yet.
  uint32_t joined = 0;
  WindowAccumulator::Pieces pieces;  // one for all: clearing it takes long
  const auto end_joined = [&] {
    if (joined > 0) SetEnd(walk, joined - 1, run.Sample(joined - 1));
    joined = 0;
  };
  const auto tell_each = [&](uint32_t first, uint32_t end) {
    end_joined();
    for (uint32_t tick = first; tick < end; ++tick) {
      TellSample(walk, tick, [&](const WalkedSample& walked) {
        listener->OnSample(walked);
      });
    }
  };
  ForEachStretchOf(
      run, stretches,
      [&](const Stretch& stretch, uint32_t first, uint32_t end) {
        // The first tick of a run or stretch depends on the tick before it, and
        // the next ones on an earlier fall.
        bool depends = first == 0 || !stretch.link.has_value();
        while (first < end && (depends || walk.series.end_.has_fallen())) {
          depends = false;
          tell_each(first, first + 1);
          ++first;
        }
        while (first < end) {
          const uint32_t next = joining == Joining::kPieces ? first + 1 : end;
          if (!growth.Between(first - 1, next - 1, &pieces.growth)) {
            tell_each(first, next);
          } else {
            joined = next;
            if (!stretch.is_before) {
              pieces.count = run.SamplesIn(first, next);
              pieces.start = perflib::TimeOf(run.clocks(first - 1));
              SetLengths(run, stretch, first, next, &pieces);
              listener->OnPieces({.stretch = stretch,
                                  .interval = run.interval(),
                                  .pieces = pieces,
                                  .first = run.clocks(first - 1),
                                  .last = run.clocks(next - 1)});
            }
          }
          first = next;
        }
      });
  end_joined();
}

void Walker::TellGauges(const Walk& walk, absl::Span<const uint64_t> values,
                        absl::Span<const Stretch> stretches,
                        StretchListener* listener) const {
  const SeriesRun& run = walk.run;
  const bool is_constant = values.size() == 1;
  ForEachStretchOf(
      run, stretches,
      [&](const Stretch& stretch, uint32_t first, uint32_t end) {
        const RawSample newest = run.Sample(end - 1);
        if (!stretch.is_before) {
          listener->OnGauges(
              {.stretch = stretch,
               .interval = run.interval(),
               .values =
                   is_constant ? values : values.subspan(first, end - first),
               .count = run.SamplesIn(first, end),
               .total = end == run.ticks() ? run.FoldedTotal() : nullptr,
               .newest = newest,
               .older = PointerTo(walk.series.end_.sample()),
               .first = run.clocks(first),
               .tick_interval = IntervalOf(walk, first)});
        }
        SetEnd(walk, end - 1, newest);
      });
}

std::vector<WalkedSeries>& WalkedInstances::Of(
    const Schema& schema, const std::shared_ptr<const Instance>& instance,
    size_t counters) {
  if (of_life_.size() > kMaxLives) of_life_.clear();
  std::vector<WalkedSeries>*& known = of_life_[instance];
  if (known == nullptr) {
    auto& series = series_[{&schema, instance->name, instance->instance_id,
                            instance->occurrence}];
    if (series == nullptr) {
      series = std::make_unique<std::vector<WalkedSeries>>();
    }
    known = series.get();
  }
  if (known->size() < counters) known->resize(counters);
  return *known;
}

}  // namespace fleetperf::aggregator
