// Combines the values of several series into those of a group.

#ifndef FLEETPERF_AGGREGATOR_QUERY_AGGREGATION_H_
#define FLEETPERF_AGGREGATOR_QUERY_AGGREGATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/query/range_evaluator.h"
#include "aggregator/query/series_reader.h"
#include "aggregator/query/series_result.h"
#include "aggregator/samples/labels.h"
#include "fleetperf/v1/values.pb.h"
#include "values/counter_formula.h"
#include "values/exact_sum.h"
#include "values/formula.h"
#include "values/window.h"

namespace fleetperf::aggregator {

class QueryMeter;

enum class AggregateFunction : uint8_t {
  kAuto,  // the counter's own AggregateFunc, or the default of its type
  kAverage,
  kSum,
  kMinimum,
  kMaximum,
  kCount,  // the number of series with a value, by weight
  // Percentiles by nearest rank: the smallest value that at least this
  // percentage of the values does not exceed. Always one of the values.
  kP50,
  kP90,
  kP95,
  kP99,
};

struct Aggregation {
  AggregateFunction function = AggregateFunction::kAuto;
  // The properties that separate groups. Counters always do, unless
  // `across_counters`.
  bool by_machine = false;
  bool by_instance = false;
  // The part of instance names before ":" and a number: "nginx" of
  // "nginx:1234".
  bool by_name = false;
  // Groups all counters of a counterset with the same unit.
  bool across_counters = false;
  std::vector<std::string> labels;  // names of labels of the machines
};

// Returns the name of the program whose process an instance is: "nginx" of
// "nginx:1234". Other instances are returned as they are.
std::string ProgramOf(const std::string& instance);

// The values of a group's series in one window, each with a weight from 0 to 1:
// the sum is that of value * weight, the average that sum divided by the sum of
// weights, the count the sum of weights. The average of ratios (types with a
// base) of one formula is the sum of the numerators divided by the sum of the
// denominators. A value without weight is none. Sums are exact, and rounded
// once by Finish: values do not depend on the order of the series, unless the
// least common multiple of their clocks' frequencies exceeds 2^62.
class AggregatedWindow {
 public:
  // For percentiles, keeps all values.
  void Add(const CounterFormula& formula, AggregateFunction function,
           const WindowValue& value, double weight = 1);
  WindowValue Finish(AggregateFunction function) const;

  // The number of values in memory.
  size_t held() const { return 1 + values_.size(); }

 private:
  double Combined(AggregateFunction function) const;
  double Percentile(size_t percent) const;

  CounterFormula formula_;    // of the first series with a value
  uint64_t series_ = 0;       // number of series
  uint64_t with_values_ = 0;  // number of series with a value
  uint64_t ratios_ = 0;       // number of series with a ratio
  ExactSum sum_;              // of value * weight
  ExactSum weights_;          // their sum
  Growth ratio_;              // the sum of ratios' N and D
  double smallest_ = 0;
  double largest_ = 0;
  std::vector<double> values_;
  uint64_t breaks_ = 0;
  ExactSum coverage_;        // their sum
  CalculatedValue problem_;  // of the last series without a value
  GapCause cause_ = GapCause::kNone;
};

// Thread-compatible.
class GroupedSeries {
 public:
  explicit GroupedSeries(const Aggregation& aggregation)
      : aggregation_(aggregation) {}

  // Adds the values of a series. `result` has the series' name. `has_windows`:
  // whether its points are those of windows, which have the same times in all
  // series.
  void Add(const FoundSeries& found, const Labels& labels,
           const SeriesResult& result, bool has_windows);

  // The number of windows and values in memory, of all groups.
  size_t held() const { return held_; }

  // Returns the groups by counter, machine, labels and instance, and clears
  // them. Returns an error if the query was cancelled.
  absl::StatusOr<std::vector<SeriesResult>> Take(QueryMeter* meter);

 private:
  // Counterset, counter or unit, type, and the properties that separate groups.
  using Key = std::tuple<std::string, std::string, uint32_t, std::string,
                         std::vector<std::string>, std::string>;
  struct Window {
    absl::Time time;
    AggregatedWindow values;
  };
  struct State {
    v1::Series series;
    AggregateFunction function;
    std::vector<Window> windows;  // by time
    AggregatedWindow total;
    absl::Time newest = absl::InfinitePast();
    bool has_windows = false;
    // SeriesResult::stopped: whether all series have it, and the newest.
    bool all_stopped = true;
    absl::Time stopped = absl::InfinitePast();
    bool all_ended = true;  // the same of SeriesResult::ended
    absl::Time ended = absl::InfinitePast();
    bool ends_partially = false;  // the newest window is partial
  };

  // Adds windows at the times of the points, which are in order.
  static void AddWindows(const std::vector<Point>& points,
                         std::vector<Window>* windows);
  Key KeyOf(const v1::Series& series, const Labels& labels) const;
  // Returns the instance of the group of `series`, if instances separate
  // groups.
  std::optional<std::string> InstanceOf(const v1::Series& series) const;
  // Returns the name of the group of `series`.
  v1::Series Describe(const v1::Series& series, const Labels& labels) const;

  const Aggregation aggregation_;
  std::map<Key, State> groups_;
  size_t held_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_AGGREGATION_H_
