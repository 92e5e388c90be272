#include "aggregator/query/aggregation.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "aggregator/query/query_context.h"
#include "base/status_macros.h"
#include "perflib/path.h"

namespace fleetperf::aggregator {
namespace {

using perflib::DisplaySuffix;

// The work on the name of a group; see QueryMeter::Work.
constexpr size_t kStepsOfGroup = 200;

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
  // Sums of percentages and times of several instances are meaningless.
  const DisplaySuffix suffix = perflib::SuffixOf(series.formula.type);
  const bool is_mean = suffix == DisplaySuffix::kPercent ||
                       suffix == DisplaySuffix::kSeconds ||
                       IsRatio(series.formula);
  return is_mean ? AggregateFunction::kAverage : AggregateFunction::kSum;
}

// Describes the values as plain numbers, whatever the counter's are.
void SetNumberOfSeries(v1::Series* series) {
  series->clear_unit();
  series->set_type(perflib::kPerfCounterLargeRawcount);
  series->clear_attrib();
  series->clear_default_scale();
}

// Returns the percentage; std::nullopt if `function` is not a percentile.
std::optional<size_t> PercentileOf(AggregateFunction function) {
  switch (function) {
    case AggregateFunction::kP50:
      return 50;
    case AggregateFunction::kP90:
      return 90;
    case AggregateFunction::kP95:
      return 95;
    case AggregateFunction::kP99:
      return 99;
    default:
      return std::nullopt;
  }
}

std::string ValueOf(const Labels& labels, const std::string& name) {
  const auto found = labels.find(name);
  return found != labels.end() ? found->second : "";
}

}  // namespace

std::string ProgramOf(const std::string& instance) {
  const size_t colon = instance.rfind(':');
  if (colon == std::string::npos || colon + 1 == instance.size() ||
      !std::all_of(instance.begin() + static_cast<ptrdiff_t>(colon) + 1,
                   instance.end(), absl::ascii_isdigit)) {
    return instance;
  }
  return instance.substr(0, colon);
}

void AggregatedWindow::Add(const CounterFormula& formula,
                           AggregateFunction function, const WindowValue& value,
                           double weight) {
  ++series_;
  breaks_ += value.breaks;
  coverage_.Add(CoverageWhilePresent(value.coverage, value.presence));
  if (value.result.cause != GapCause::kNone) cause_ = value.result.cause;
  if (!value.result.ok()) {
    problem_ = value.result;
    return;
  }
  if (weight <= 0) {
    problem_ = CalculatedValue::Gap(GapCause::kNoSamples);
    return;
  }
  if (with_values_ == 0) formula_ = formula;
  const double number = value.result.value;
  smallest_ = with_values_ == 0 ? number : std::min(smallest_, number);
  largest_ = with_values_ == 0 ? number : std::max(largest_, number);
  sum_.AddProduct(number, weight);
  weights_.Add(weight);
  ++with_values_;
  if (PercentileOf(function).has_value()) values_.push_back(number);
  // Numerators and denominators of different formulas cannot be added.
  if (value.ratio.denominator > 0 && formula.formula == formula_.formula &&
      formula.scale == formula_.scale) {
    AddGrowth(formula_, value.ratio, &ratio_);
    ++ratios_;
  }
}

double AggregatedWindow::Combined(AggregateFunction function) const {
  if (const auto percent = PercentileOf(function)) return Percentile(*percent);
  switch (function) {
    case AggregateFunction::kSum:
      return sum_.Total();
    case AggregateFunction::kMinimum:
      return smallest_;
    case AggregateFunction::kMaximum:
      return largest_;
    case AggregateFunction::kCount:
      return weights_.Total();
    default:
      break;
  }
  if (ratios_ == with_values_) return CalculateGrowth(formula_, ratio_).value;
  return sum_.DividedBy(weights_);
}

double AggregatedWindow::Percentile(size_t percent) const {
  std::vector<double> values = values_;
  const size_t rank = (percent * values.size() + 99) / 100;  // 1-based
  const auto nearest = values.begin() + static_cast<ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), nearest, values.end());
  return *nearest;
}

WindowValue AggregatedWindow::Finish(AggregateFunction function) const {
  WindowValue value{
      .breaks = breaks_,
      .coverage = coverage_.DividedBy(static_cast<double>(series_))};
  value.result =
      with_values_ > 0 ? CalculatedValue::Of(Combined(function)) : problem_;
  if (value.result.ok()) value.result.cause = cause_;
  return value;
}

GroupedSeries::Key GroupedSeries::KeyOf(const v1::Series& series,
                                        const Labels& labels) const {
  std::vector<std::string> values;
  for (const std::string& name : aggregation_.labels) {
    values.push_back(ValueOf(labels, name));
  }
  const bool across = aggregation_.across_counters;
  // Numbers of series have no unit.
  const bool has_unit = aggregation_.function != AggregateFunction::kCount;
  return {series.counterset(),
          across ? (has_unit ? series.unit() : "") : series.counter(),
          across ? 0 : series.type(),
          aggregation_.by_machine ? series.machine() : "",
          std::move(values),
          InstanceOf(series).value_or("")};
}

std::optional<std::string> GroupedSeries::InstanceOf(
    const v1::Series& series) const {
  if (aggregation_.by_instance) return series.instance();
  if (aggregation_.by_name) return ProgramOf(series.instance());
  return std::nullopt;
}

v1::Series GroupedSeries::Describe(const v1::Series& series,
                                   const Labels& labels) const {
  v1::Series group = series;
  if (!aggregation_.by_machine) group.clear_machine();
  for (const std::string& name : aggregation_.labels) {
    (*group.mutable_labels())[name] = ValueOf(labels, name);
  }
  // Also set if the counterset has no instances, so that all groups have one.
  group.clear_instance();
  if (const auto instance = InstanceOf(series)) group.set_instance(*instance);
  group.clear_instance_id();
  group.clear_instance_index();
  group.clear_is_aggregate();
  if (aggregation_.across_counters) group.set_counter("*");
  group.set_path(absl::StrCat(
      "\\", perflib::EscapeName(series.counterset()), "\\",
      aggregation_.across_counters ? "*"
                                   : perflib::EscapeName(series.counter())));
  return group;
}

void GroupedSeries::AddWindows(const std::vector<Point>& points,
                               std::vector<Window>* windows) {
  if (points.empty()) return;
  if (windows->empty()) windows->reserve(points.size());
  auto known = std::lower_bound(
      windows->begin(), windows->end(), points.front().time,
      [](const Window& window, absl::Time time) { return window.time < time; });
  const auto is_missing = [&](const Point& point) {
    while (known != windows->end() && known->time < point.time) ++known;
    return known == windows->end() || known->time != point.time;
  };
  // Nearly always, the group has all windows of the series.
  auto point = std::find_if(points.begin(), points.end(), is_missing);
  if (point == points.end()) return;
  // Only the windows after the first missing one move.
  std::vector<Window> later(std::make_move_iterator(known),
                            std::make_move_iterator(windows->end()));
  windows->erase(known, windows->end());
  auto next = later.begin();
  for (; point != points.end(); ++point) {
    while (next != later.end() && next->time <= point->time) {
      windows->push_back(std::move(*next++));
    }
    if (windows->empty() || windows->back().time != point->time) {
      windows->push_back({.time = point->time});
    }
  }
  std::move(next, later.end(), std::back_inserter(*windows));
}

void GroupedSeries::Add(const FoundSeries& found, const Labels& labels,
                        const SeriesResult& result, bool has_windows) {
  const auto [entry, is_new] =
      groups_.try_emplace(KeyOf(result.series, labels));
  State& state = entry->second;
  if (is_new) {
    state.function = aggregation_.function == AggregateFunction::kAuto
                         ? FunctionOf(found)
                         : aggregation_.function;
    state.has_windows = has_windows;
    state.series = Describe(result.series, labels);
    if (state.function == AggregateFunction::kCount) {
      SetNumberOfSeries(&state.series);
    }
  }
  const size_t windows = state.windows.size();
  if (has_windows) {
    AddWindows(result.points, &state.windows);
  } else if (windows == 0 && !result.points.empty()) {
    // A series has one point, at its machine's own time.
    state.windows.push_back({.time = absl::InfinitePast()});
  }
  held_ += state.windows.size() - windows;
  auto window = state.windows.begin();
  for (const Point& point : result.points) {
    while (has_windows && window->time < point.time) ++window;
    held_ -= window->values.held();
    window->values.Add(found.formula, state.function, point.value,
                       WeightOf(result, point.value));
    held_ += window->values.held();
    state.newest = std::max(state.newest, point.time);
    state.ends_partially |= point.is_partial;
  }
  state.all_stopped = state.all_stopped && result.stopped.has_value();
  if (result.stopped.has_value()) {
    state.stopped = std::max(state.stopped, *result.stopped);
  }
  state.all_ended = state.all_ended && result.ended.has_value();
  if (result.ended.has_value()) {
    state.ended = std::max(state.ended, *result.ended);
  }
  if (!is_new) held_ -= state.total.held();
  state.total.Add(found.formula, state.function, result.total,
                  WeightOf(result, result.total));
  held_ += state.total.held();
}

absl::StatusOr<std::vector<SeriesResult>> GroupedSeries::Take(
    QueryMeter* meter) {
  std::vector<SeriesResult> groups;
  for (auto& [key, state] : groups_) {
    RETURN_IF_ERROR(meter->Work(kStepsOfGroup + state.total.held()));
    SeriesResult& group = groups.emplace_back();
    group.series = std::move(state.series);
    group.total = state.total.Finish(state.function);
    if (state.all_stopped) group.stopped = state.stopped;
    if (state.all_ended) group.ended = state.ended;
    for (const auto& [time, values] : state.windows) {
      RETURN_IF_ERROR(meter->Work(values.held()));
      group.points.push_back({state.has_windows ? time : state.newest,
                              values.Finish(state.function),
                              state.ends_partially && time == state.newest});
    }
  }
  groups_.clear();
  held_ = 0;
  return groups;
}

}  // namespace fleetperf::aggregator
