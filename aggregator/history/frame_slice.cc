#include "aggregator/history/frame_slice.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aggregator/samples/series_run.h"
#include "aggregator/samples/thinned_query.h"
#include "values/counter_formula.h"

namespace fleetperf::aggregator {
namespace {

// A run's ticks inside the slice.
struct Part {
  size_t run = 0;
  uint32_t skipped = 0;  // of its ticks, before the slice
  uint32_t ticks = 0;
};

FrameColumn SliceColumn(const Frame& frame, const FrameColumn& column,
                        const std::vector<Part>& parts) {
  FrameColumn sliced{.constant = column.constant};
  uint32_t position = 0;  // in the slice
  for (const Part& part : parts) {
    const uint32_t begin = frame.runs[part.run].begin + part.skipped;
    if (column.constant) {
      sliced.values.push_back(column.values[part.run]);
    } else if (!column.values.empty()) {
      const auto values = column.values.begin() + begin;
      sliced.values.insert(sliced.values.end(), values, values + part.ticks);
    }
    auto missing =
        std::lower_bound(column.missing.begin(), column.missing.end(), begin);
    for (; missing != column.missing.end() && *missing < begin + part.ticks;
         ++missing) {
      sliced.missing.push_back(*missing - begin + position);
    }
    position += part.ticks;
  }
  return sliced;
}

// Sets the value of a run's first tick.
void SetFirst(size_t run, uint64_t value, const std::vector<Frame::Run>& runs,
              FrameColumn* column) {
  if (column->constant && runs[run].tick_count > 1) {
    std::vector<uint64_t> values;
    for (size_t i = 0; i < runs.size(); ++i) {
      values.insert(values.end(), runs[i].tick_count, column->values[i]);
    }
    column->values = std::move(values);
    column->constant = false;
  }
  column->values[column->constant ? run : runs[run].begin] = value;
}

// Returns the columns of a summary's owner, if the frame has their values.
std::optional<SeriesColumns> FindSummary(const Frame& frame,
                                         const CounterFormula& formula) {
  const auto columns =
      FindSeriesColumns(*frame.query, formula, /*needs_extremes=*/false);
  if (!columns.has_value()) return std::nullopt;
  for (const size_t number : columns->Numbers()) {
    if (frame.columns[number].values.empty()) return std::nullopt;
  }
  return columns;
}

// The summary at a run's first tick in the slice is relative to the tick before
// it, which the slice lacks.
void RemoveOlder(const Frame& frame, const std::vector<Part>& parts,
                 const CounterFormula& formula, const SeriesColumns& columns,
                 Frame* slice) {
  constexpr ColumnRole kChanged[] = {
      ColumnRole::kGrowth, ColumnRole::kDenominator, ColumnRole::kProblem,
      ColumnRole::kCovered};
  for (size_t i = 0; i < parts.size(); ++i) {
    const uint32_t tick = parts[i].skipped;
    if (tick == 0) continue;
    const SeriesRun run(frame, parts[i].run, columns);
    const auto column_of = [&](ColumnRole role) {
      return *(*columns.thinned)[static_cast<size_t>(role)];
    };
    SummaryNumbers numbers = {};
    for (const ColumnRole role : kChanged) {
      numbers[static_cast<size_t>(role)] =
          frame.Value(frame.columns[column_of(role)], parts[i].run, tick);
    }
    aggregator::RemoveOlder(formula, run.Sample(tick - 1), run.Sample(tick),
                            &numbers);
    for (const ColumnRole role : kChanged) {
      SetFirst(i, numbers[static_cast<size_t>(role)], slice->runs,
               &slice->columns[column_of(role)]);
    }
  }
}

void RemoveOlder(const Frame& frame, const std::vector<Part>& parts,
                 Frame* slice) {
  const perflib::CountersetRegistration& registration =
      frame.query->schema->registration;
  for (size_t i = 0; i < frame.columns.size(); ++i) {
    const CollectedQuery::Column& column = frame.query->columns[i];
    if (column.role != ColumnRole::kGrowth || frame.columns[i].values.empty()) {
      continue;
    }
    const auto* counter = registration.FindCounter(column.counter_id);
    if (counter == nullptr) continue;
    const CounterFormula formula = FormulaOf(registration, *counter);
    const auto columns = FindSummary(frame, formula);
    if (!columns.has_value()) continue;
    RemoveOlder(frame, parts, formula, *columns, slice);
  }
}

}  // namespace

Frame Slice(const Frame& frame, uint32_t first, uint32_t end) {
  Frame slice{.query = frame.query, .epoch_number = frame.epoch_number};
  slice.clocks = std::make_shared<const std::vector<perflib::Clocks>>(
      frame.clocks->begin() + first, frame.clocks->begin() + end);
  std::vector<Part> parts;
  uint32_t position = 0;
  for (size_t i = 0; i < frame.runs.size(); ++i) {
    const Frame::Run& run = frame.runs[i];
    const uint32_t from = std::max(run.first_tick, first);
    const uint32_t to = std::min(run.first_tick + run.tick_count, end);
    if (from >= to) continue;
    parts.push_back(
        {.run = i, .skipped = from - run.first_tick, .ticks = to - from});
    slice.runs.push_back({.instance = run.instance,
                          .first_tick = from - first,
                          .tick_count = to - from,
                          .begin = position});
    position += to - from;
  }
  for (const FrameColumn& column : frame.columns) {
    slice.columns.push_back(SliceColumn(frame, column, parts));
  }
  for (const Frame::Failure& failure : frame.failures) {
    if (failure.tick < first || failure.tick >= end) continue;
    slice.failures.push_back(
        {.tick = failure.tick - first, .status = failure.status});
  }
  if (!frame.interval_times.empty()) {
    slice.interval_times.assign(frame.interval_times.begin() + first,
                                frame.interval_times.begin() + end);
  }
  const bool cuts_run = std::any_of(
      parts.begin(), parts.end(), [](const Part& p) { return p.skipped > 0; });
  if (frame.query->is_thinned() && cuts_run) {
    RemoveOlder(frame, parts, &slice);
  }
  return slice;
}

}  // namespace fleetperf::aggregator
