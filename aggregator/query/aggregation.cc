#include "aggregator/query/aggregation.h"

#include <algorithm>

#include "perflib/path.h"

namespace fleetperf::aggregator {
namespace {

using perflib::DisplaySuffix;

// PERF_AGGREGATE_ values.
enum PerfAggregate : uint32_t {
  kUndefined = 0,
  kTotal = 1,
  kAvg = 2,
  kMin = 3,
  kMax = 4,
};

AggregateFunction FunctionOf(const FoundSeries& series) {
  switch (series.aggregate_function) {
    case kTotal:
      return AggregateFunction::kSum;
    case kAvg:
      return AggregateFunction::kAverage;
    case kMin:
      return AggregateFunction::kMinimum;
    case kMax:
      return AggregateFunction::kMaximum;
    default:
      break;
  }
  // Percentages and times of several instances make no sense added up.
  const DisplaySuffix suffix = perflib::SuffixOf(series.formula.type);
  const bool is_mean = suffix == DisplaySuffix::kPercent ||
                       suffix == DisplaySuffix::kSeconds ||
                       IsRatio(series.formula);
  return is_mean ? AggregateFunction::kAverage : AggregateFunction::kSum;
}

}  // namespace

void AggregatedWindow::Add(const CounterFormula& formula,
                           const WindowValue& value) {
  ++series_;
  breaks_ += value.breaks;
  coverage_ += value.coverage;
  if (value.result.cause != GapCause::kNone) cause_ = value.result.cause;
  if (!value.result.ok()) {
    problem_ = value.result;
    return;
  }
  const double number = value.result.value;
  smallest_ = with_values_ == 0 ? number : std::min(smallest_, number);
  largest_ = with_values_ == 0 ? number : std::max(largest_, number);
  sum_ += number;
  ++with_values_;
  if (value.growth.has_value()) {
    AddGrowth(formula, *value.growth, &growth_);
    ++with_growth_;
  }
}

double AggregatedWindow::Combined(const CounterFormula& formula,
                                  AggregateFunction function) const {
  switch (function) {
    case AggregateFunction::kSum:
      return sum_;
    case AggregateFunction::kMinimum:
      return smallest_;
    case AggregateFunction::kMaximum:
      return largest_;
    case AggregateFunction::kCount:
      return static_cast<double>(with_values_);
    case AggregateFunction::kAuto:
    case AggregateFunction::kAverage:
      break;
  }
  if (IsRatio(formula) && with_growth_ == with_values_) {
    const CalculatedValue ratio = CalculateGrowth(formula, growth_);
    if (ratio.ok()) return ratio.value;
  }
  return sum_ / static_cast<double>(with_values_);
}

WindowValue AggregatedWindow::Finish(const CounterFormula& formula,
                                     AggregateFunction function) const {
  WindowValue value{.breaks = breaks_,
                    .coverage = coverage_ / static_cast<double>(series_)};
  value.result = with_values_ > 0
                     ? CalculatedValue::Of(Combined(formula, function))
                     : problem_;
  if (value.result.ok()) value.result.cause = cause_;
  return value;
}

void GroupedSeries::Add(const FoundSeries& series,
                        const std::vector<Point>& points,
                        const WindowValue& total, bool has_windows) {
  const v1::Series& own = series.series;
  const std::string machine = aggregation_.by_machine ? own.machine() : "";
  const std::string instance = aggregation_.by_instance ? own.instance() : "";
  const auto [entry, is_new] = groups_.try_emplace(
      {own.counterset(), own.counter(), own.type(), machine, instance});
  State& state = entry->second;
  if (is_new) {
    state.formula = series.formula;
    state.function = aggregation_.function == AggregateFunction::kAuto
                         ? FunctionOf(series)
                         : aggregation_.function;
    state.has_windows = has_windows;
    state.series = own;
    state.series.set_machine(machine);
    state.series.clear_instance();
    if (aggregation_.by_instance) state.series.set_instance(instance);
    state.series.clear_instance_id();
    state.series.clear_instance_index();
    state.series.set_path(perflib::FormatPath("", own.counterset(),
                                              std::nullopt, 0, own.counter()));
    if (state.function == AggregateFunction::kCount) state.series.clear_unit();
  }
  for (const Point& point : points) {
    // Without windows there is one point a series, at its machine's own time.
    const absl::Time key = has_windows ? point.time : absl::InfinitePast();
    windows_ -= state.windows.size();
    state.windows[key].Add(state.formula, point.value);
    windows_ += state.windows.size();
    state.newest = std::max(state.newest, point.time);
  }
  state.total.Add(state.formula, total);
}

std::vector<GroupedSeries::Group> GroupedSeries::Finish() const {
  std::vector<Group> groups;
  for (const auto& [key, state] : groups_) {
    Group& group = groups.emplace_back();
    group.series = state.series;
    group.total = state.total.Finish(state.formula, state.function);
    for (const auto& [time, window] : state.windows) {
      group.points.push_back({state.has_windows ? time : state.newest,
                              window.Finish(state.formula, state.function)});
    }
  }
  return groups;
}

}  // namespace fleetperf::aggregator
