#include "aggregator/samples/series_run.h"

#include <algorithm>

#include "aggregator/samples/thinned_query.h"

namespace fleetperf::aggregator {
namespace {

std::optional<size_t> FindColumn(const CollectedQuery& query,
                                 std::optional<uint32_t> counter_id,
                                 ColumnRole role = ColumnRole::kRaw) {
  if (!counter_id.has_value()) return std::nullopt;
  for (size_t i = 0; i < query.columns.size(); ++i) {
    if (query.columns[i].counter_id == *counter_id &&
        query.columns[i].role == role) {
      return i;
    }
  }
  return std::nullopt;
}

bool IsExtreme(ColumnRole role) {
  return role == ColumnRole::kSmallest ||
         role == ColumnRole::kSmallestDenominator ||
         role == ColumnRole::kLargest ||
         role == ColumnRole::kLargestDenominator;
}

// Measures a start by PerfTimeStamp. A start after it is a time of day, as that
// of a process.
void SetBlockClocks(RawSample* sample) {
  const auto clock = [](int64_t value) {
    return RawValue{.value = static_cast<uint64_t>(std::max<int64_t>(value, 0)),
                    .size = sizeof(value)};
  };
  sample->denominator = clock(sample->clocks.perf_time_stamp);
  sample->frequency = clock(sample->clocks.perf_freq);
  if (sample->value.value > sample->denominator.value) {
    sample->denominator = clock(sample->clocks.perf_time_100nsec);
    sample->frequency = clock(perflib::k100NSecPerSecond);
  }
}

}  // namespace

bool SeriesColumns::has_extremes() const {
  return thinned.has_value() &&
         (*thinned)[static_cast<size_t>(ColumnRole::kSmallest)].has_value();
}

std::vector<size_t> SeriesColumns::Numbers() const {
  std::vector<size_t> numbers = {value};
  for (const auto& other : {denominator, frequency, multi}) {
    if (other.has_value()) numbers.push_back(*other);
  }
  if (thinned.has_value()) {
    for (const auto& column : *thinned) {
      if (column.has_value()) numbers.push_back(*column);
    }
  }
  return numbers;
}

std::optional<SeriesColumns> FindSeriesColumns(const CollectedQuery& query,
                                               const CounterFormula& formula,
                                               bool needs_extremes) {
  const auto value = FindColumn(query, formula.counter_id);
  if (!value.has_value() || query.columns[*value].only_linked) {
    return std::nullopt;
  }
  SeriesColumns columns = {
      .value = *value,
      .denominator = FindColumn(query, formula.denominator_id),
      .frequency = FindColumn(query, formula.frequency_id),
      .multi = FindColumn(query, formula.multi_id),
      .uses_block_clocks = UsesBlockClocks(formula)};
  if (!query.is_thinned()) return columns;
  columns.thinned.emplace();
  for (size_t role = 1; role < kColumnRoles; ++role) {
    const auto found =
        FindColumn(query, formula.counter_id, static_cast<ColumnRole>(role));
    if (!found.has_value() && HasRole(formula, static_cast<ColumnRole>(role))) {
      return std::nullopt;
    }
    if (!needs_extremes && IsExtreme(static_cast<ColumnRole>(role))) continue;
    (*columns.thinned)[role] = found;
  }
  return columns;
}

RawValue SeriesRun::Read(size_t column, uint32_t tick) const {
  const FrameColumn& values = frame_.columns[column];
  if (values.IsMissing(run_.begin + tick)) return {};
  return {
      .value = frame_.Value(values, number_, tick),
      .size = static_cast<uint8_t>(frame_.query->columns[column].value_size),
      .wraps = frame_.query->columns[column].wraps};
}

RawSample SeriesRun::Sample(uint32_t tick) const {
  RawSample sample = {.clocks = clocks(tick),
                      .life = life(),
                      .value = Read(columns_.value, tick)};
  if (columns_.denominator.has_value()) {
    sample.denominator = Read(*columns_.denominator, tick);
  }
  if (columns_.frequency.has_value()) {
    sample.frequency = Read(*columns_.frequency, tick);
  }
  if (columns_.uses_block_clocks) SetBlockClocks(&sample);
  if (columns_.multi.has_value()) sample.multi = Read(*columns_.multi, tick);
  return sample;
}

bool SeriesRun::HasFallen(uint32_t tick) const {
  const auto problem =
      (*columns_.thinned)[static_cast<size_t>(ColumnRole::kProblem)];
  return problem.has_value() && aggregator::HasFallen(frame_.Value(
                                    frame_.columns[*problem], number_, tick));
}

std::optional<absl::Span<const uint64_t>> SeriesRun::AllOf(
    size_t number) const {
  const FrameColumn& column = frame_.columns[number];
  const auto missing = std::lower_bound(column.missing.begin(),
                                        column.missing.end(), run_.begin);
  if (missing != column.missing.end() &&
      *missing < run_.begin + run_.tick_count) {
    return std::nullopt;
  }
  if (column.constant) return absl::MakeConstSpan(&column.values[number_], 1);
  return absl::MakeConstSpan(column.values)
      .subspan(run_.begin, run_.tick_count);
}

std::optional<absl::Span<const uint64_t>> SeriesRun::Values() const {
  return AllOf(columns_.value);
}

std::optional<absl::Span<const uint64_t>> SeriesRun::Denominators() const {
  static constexpr uint64_t kNone = 0;
  if (!columns_.denominator.has_value()) {
    return absl::MakeConstSpan(&kNone, 1);
  }
  return AllOf(*columns_.denominator);
}

std::vector<Summary> SeriesRun::Summaries(const CounterFormula& formula) const {
  std::vector<Summary> summaries;
  summaries.reserve(ticks());
  const bool has_extremes = columns_.has_extremes();
  std::optional<RawSample> older;
  for (uint32_t tick = 0; tick < ticks(); ++tick) {
    const RawSample newer = Sample(tick);
    SummaryNumbers numbers = {};
    for (size_t role = 1; role < kColumnRoles; ++role) {
      const std::optional<size_t> column = (*columns_.thinned)[role];
      if (!column.has_value()) continue;
      numbers[role] = frame_.Value(frame_.columns[*column], number_, tick);
    }
    summaries.push_back(
        DecodeSummary(formula, numbers, older.has_value() ? &*older : nullptr,
                      newer, frame_.query->thinned_from, has_extremes));
    // Damaged data may lack the times.
    if (!frame_.interval_times.empty()) {
      summaries.back().there =
          DecodeThere(numbers, frame_.interval_times[run_.first_tick + tick]);
    }
    older = newer;
  }
  return summaries;
}

}  // namespace fleetperf::aggregator
