#include "aggregator/store/compaction/thinner.h"

#include <algorithm>
#include <optional>

#include "aggregator/samples/thinned_query.h"

namespace fleetperf::aggregator {
namespace {

// Returns the last tick of each multiple of the interval.
std::vector<uint32_t> EndsOf(const std::vector<perflib::Clocks>& clocks,
                             absl::Duration interval) {
  const int64_t length = absl::ToInt64Nanoseconds(interval) / 100;
  // As in windows, a tick at a multiple belongs to the interval before it.
  const auto number_of = [&](const perflib::Clocks& tick) {
    return (std::max<int64_t>(tick.perf_time_100nsec, 1) - 1) / length;
  };
  std::vector<uint32_t> ends;
  for (uint32_t tick = 0; tick < clocks.size(); ++tick) {
    if (tick + 1 == clocks.size() ||
        number_of(clocks[tick]) != number_of(clocks[tick + 1])) {
      ends.push_back(tick);
    }
  }
  return ends;
}

// Returns the index of the retained tick that a tick belongs to.
uint32_t EndOf(const std::vector<uint32_t>& ends, uint32_t tick) {
  return static_cast<uint32_t>(
      std::lower_bound(ends.begin(), ends.end(), tick) - ends.begin());
}

// The samples of a run that are reduced to one retained tick.
struct Samples {
  size_t run = 0;
  uint32_t first = 0;  // relative to the run's first tick
  uint32_t last = 0;
  bool is_at_end = false;  // the last sample is at the retained tick
};

// Writes the last value present. If growth is measured between a column's
// values, the value must be from the retained tick.
void PutRawValue(const Frame& frame, size_t number, const Samples& samples,
                 bool is_measured, uint32_t position, FrameColumn* to) {
  const FrameColumn& column = frame.columns[number];
  const uint32_t begin = frame.runs[samples.run].begin;
  uint32_t tick = samples.last;
  while (!is_measured && tick > samples.first &&
         column.IsMissing(begin + tick)) {
    --tick;
  }
  to->values[position] = frame.Value(column, samples.run, tick);
  // An earlier run of the same life may have marked the position as missing.
  if (!to->missing.empty() && to->missing.back() == position) {
    to->missing.pop_back();
  }
  if (column.IsMissing(begin + tick) || (is_measured && !samples.is_at_end)) {
    to->missing.push_back(position);
  }
}

// Thinned data cover one life each: who reads them adds the break between two.
void AddSample(const CounterFormula& formula, const WalkedSample& walked,
               Summary* summary) {
  if (!formula.uses_two_samples()) {
    summary->AddSample(formula, walked.sample);
  } else if (walked.piece.has_value() && !walked.is_of_new_life()) {
    summary->AddPiece(formula, *walked.piece);
  }
  summary->has_fallen = walked.has_fallen;
  if (walked.tick_interval.length > 0) {
    summary->there.Add(walked.tick_interval.length, walked.IsSound(formula));
  }
}

void AddWalkedGrowth(const CounterFormula& formula, const SeriesRun& run,
                     const WalkedGrowth& walked, Summary* summary) {
  if (formula.uses_two_samples()) {
    summary->start =
        std::min(summary->start, perflib::TimeOf(run.clocks(walked.tick - 1)));
    summary->covered += absl::Nanoseconds(walked.tick_length);
  }
  summary->AddSound(formula, walked.growth, walked.ValueOf(formula));
  summary->has_fallen = false;
  summary->there.Add(walked.tick_length, /*is_sound=*/true);
}

}  // namespace

FrameGroup Thinner::Thin(const FrameGroup& group) {
  const std::vector<uint32_t> ends = EndsOf(*group[0]->clocks, interval_);
  auto clocks = std::make_shared<std::vector<perflib::Clocks>>();
  for (const uint32_t end : ends) {
    clocks->push_back((*group[0]->clocks)[end]);
  }
  FrameGroup thinned;
  for (const auto& frame : group) {
    thinned.push_back(
        std::make_shared<const Frame>(ThinFrame(*frame, ends, clocks)));
  }
  return thinned;
}

void Thinner::Follow(const FrameGroup& group) {
  for (const auto& frame : group) {
    walker_.BeginFrame(*frame);
    for (const Series& series : QueryOf(frame->query).series) {
      for (size_t i = 0; i < frame->runs.size(); ++i) {
        const SeriesRun run(*frame, i, series.columns);
        walker_.Follow(series.formula, run, 0, run.ticks(),
                       &WalkedOf(*frame, frame->runs[i], series));
      }
    }
  }
}

const Thinner::Query& Thinner::QueryOf(
    const std::shared_ptr<const CollectedQuery>& query) {
  const auto [entry, is_new] = queries_.try_emplace(query);
  if (!is_new) return entry->second;
  Query& made = entry->second;
  made.thinned_before = query->is_thinned();
  made.thinned =
      std::make_shared<const CollectedQuery>(ThinnedQuery(*query, interval_));
  made.is_measured.resize(static_cast<size_t>(
      std::count_if(query->columns.begin(), query->columns.end(),
                    [](const CollectedQuery::Column& column) {
                      return column.role == ColumnRole::kRaw;
                    })));
  const perflib::CountersetRegistration& registration =
      query->schema->registration;
  for (const CollectedQuery::Column& column : query->columns) {
    const perflib::CounterRegistration* counter =
        registration.FindCounter(column.counter_id);
    if (counter == nullptr || column.role != ColumnRole::kRaw) continue;
    const CounterFormula formula = FormulaOf(registration, *counter);
    const auto columns = FindSeriesColumns(*query, formula);
    const auto thinned_columns = FindSeriesColumns(*made.thinned, formula);
    if (!columns.has_value() || !thinned_columns.has_value()) continue;
    made.series.push_back({NumberOf(*query->schema, counter->counter_id),
                           formula, *columns, *thinned_columns});
    if (formula.uses_two_samples()) made.is_measured[columns->value] = true;
  }
  return made;
}

Frame Thinner::ThinFrame(
    const Frame& frame, const std::vector<uint32_t>& ends,
    std::shared_ptr<const std::vector<perflib::Clocks>> clocks) {
  const Query& query = QueryOf(frame.query);
  walker_.BeginFrame(frame);
  Frame thinned;
  thinned.query = query.thinned;
  thinned.clocks = std::move(clocks);
  for (const Frame::Failure& failure : frame.failures) {
    const uint32_t end = EndOf(ends, failure.tick);
    if (ends[end] == failure.tick) {
      thinned.failures.push_back({end, failure.status});
    }
  }
  thinned.interval_times.resize(ends.size());
  for (uint32_t tick = 0; tick < frame.clocks->size(); ++tick) {
    thinned.interval_times[EndOf(ends, tick)] += walker_.LengthTo(tick);
  }
  std::vector<Joined> joined;
  absl::flat_hash_map<uint64_t, size_t> newest;  // index in `joined`, by life
  for (size_t i = 0; i < frame.runs.size(); ++i) {
    const Frame::Run& run = frame.runs[i];
    const uint32_t first = EndOf(ends, run.first_tick);
    const uint32_t last = EndOf(ends, run.first_tick + run.tick_count - 1);
    const auto [entry, is_new] =
        newest.try_emplace(run.instance->life, joined.size());
    // The runs of one life ascend, unless the agent is faulty.
    if (!is_new && first >= joined[entry->second].last &&
        first <= joined[entry->second].last + 1) {
      joined[entry->second].runs.push_back(i);
      joined[entry->second].last = last;
      continue;
    }
    entry->second = joined.size();
    joined.push_back({.runs = {i}, .first = first, .last = last});
  }
  uint32_t values = 0;
  for (const Joined& one : joined) {
    const uint32_t ticks = one.last - one.first + 1;
    thinned.runs.push_back(
        {.instance = WithBirth(frame, frame.runs[one.runs[0]], query),
         .first_tick = one.first,
         .tick_count = ticks,
         .begin = values});
    values += ticks;
  }
  thinned.columns.resize(query.thinned->columns.size());
  if (thinned.runs.empty()) return thinned;
  for (FrameColumn& column : thinned.columns) column.values.resize(values);
  for (size_t i = 0; i < joined.size(); ++i) {
    PutRawValues(frame, query, joined[i], i, ends, &thinned);
  }
  for (const Series& series : query.series) {
    for (size_t i = 0; i < joined.size(); ++i) {
      PutSummaries(series, Summarize(frame, series, joined[i], ends), i,
                   &thinned);
    }
  }
  return thinned;
}

size_t Thinner::NumberOf(const Schema& schema, uint32_t counter_id) {
  std::vector<uint32_t>& counters = counters_[&schema];
  const auto found = std::find(counters.begin(), counters.end(), counter_id);
  const auto number = static_cast<size_t>(found - counters.begin());
  if (found == counters.end()) counters.push_back(counter_id);
  return number;
}

WalkedSeries& Thinner::WalkedOf(const Frame& frame, const Frame::Run& run,
                                const Series& series) {
  const Schema& schema = *frame.query->schema;
  return instances_.Of(schema, run.instance,
                       counters_[&schema].size())[series.number];
}

// Returns the run's instance. If the piece before its first sample is missing,
// thinned data shows it as an instance that is not born.
std::shared_ptr<const Instance> Thinner::WithBirth(const Frame& frame,
                                                   const Frame::Run& run,
                                                   const Query& query) {
  if (query.thinned_before || query.series.empty() || !run.instance->is_born ||
      walker_.LengthTo(run.first_tick) > 0 ||
      WalkedOf(frame, run, query.series.front()).life() == run.instance->life) {
    return run.instance;
  }
  Instance instance = *run.instance;
  instance.is_born = false;
  return std::make_shared<const Instance>(std::move(instance));
}

void Thinner::PutRawValues(const Frame& frame, const Query& query,
                           const Joined& joined, size_t number,
                           const std::vector<uint32_t>& ends, Frame* thinned) {
  for (const size_t i : joined.runs) {
    const Frame::Run& run = frame.runs[i];
    const uint32_t run_end = run.first_tick + run.tick_count;
    uint32_t first = run.first_tick;
    for (uint32_t end = EndOf(ends, first); first < run_end; ++end) {
      const uint32_t last = std::min(ends[end], run_end - 1);
      const Samples samples = {.run = i,
                               .first = first - run.first_tick,
                               .last = last - run.first_tick,
                               .is_at_end = last == ends[end]};
      const uint32_t position =
          thinned->runs[number].begin + (end - joined.first);
      for (size_t column = 0; column < query.is_measured.size(); ++column) {
        PutRawValue(frame, column, samples, query.is_measured[column], position,
                    &thinned->columns[column]);
      }
      first = last + 1;
    }
  }
}

std::vector<Summary> Thinner::Summarize(const Frame& frame,
                                        const Series& series,
                                        const Joined& joined,
                                        const std::vector<uint32_t>& ends) {
  std::vector<Summary> summaries(joined.last - joined.first + 1);
  const CounterFormula& formula = series.formula;
  for (const size_t i : joined.runs) {
    const SeriesRun run(frame, i, series.columns);
    WalkedSeries& walked_series = WalkedOf(frame, frame.runs[i], series);
    uint32_t end = EndOf(ends, run.first_tick());
    const auto summary_at = [&](uint32_t tick) -> Summary& {
      while (run.first_tick() + tick > ends[end]) ++end;
      return summaries[end - joined.first];
    };
    if (run.is_thinned()) {
      walker_.ForEachSummary(
          formula, run, &walked_series, [&](const WalkedSummary& walked) {
            summary_at(walked.tick).Add(formula, walked.summary);
          });
    } else {
      walker_.ForEachGrowth(
          formula, run, 0, run.ticks(), &walked_series,
          [&](const WalkedGrowth& walked) {
            AddWalkedGrowth(formula, run, walked, &summary_at(walked.tick));
          },
          [&](const WalkedSample& walked) {
            AddSample(formula, walked, &summary_at(walked.tick));
          });
    }
  }
  return summaries;
}

void Thinner::PutSummaries(const Series& series,
                           const std::vector<Summary>& summaries, size_t number,
                           Frame* thinned) {
  const SeriesRun run(*thinned, number, series.thinned_columns);
  const uint32_t begin = thinned->runs[number].begin;
  std::optional<RawSample> older;
  for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
    const RawSample newer = run.Sample(tick);
    SummaryNumbers numbers = EncodeSummary(
        series.formula, summaries[tick], older.has_value() ? &*older : nullptr,
        newer, thinned->query->thinned_from);
    EncodeThere(summaries[tick].there,
                thinned->interval_times[run.first_tick() + tick], &numbers);
    for (size_t role = 1; role < kColumnRoles; ++role) {
      const auto column = (*series.thinned_columns.thinned)[role];
      if (!column.has_value()) continue;
      thinned->columns[*column].values[begin + tick] = numbers[role];
    }
    older = newer;
  }
}

}  // namespace fleetperf::aggregator
