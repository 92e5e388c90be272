// Combines the values of several series into those of a group.

#ifndef FLEETPERF_AGGREGATOR_QUERY_AGGREGATION_H_
#define FLEETPERF_AGGREGATOR_QUERY_AGGREGATION_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/window.h"
#include "aggregator/query/range_evaluator.h"
#include "aggregator/query/series_reader.h"
#include "aggregator/query/series_result.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator {

enum class AggregateFunction : uint8_t {
  kAuto,  // the counter's own AggregateFunc, else what suits its type
  kAverage,
  kSum,
  kMinimum,
  kMaximum,
  kCount,  // of the series with a value
  // Percentiles, by nearest rank: the smallest of the values that so many
  // percent of them do not exceed. It is always one of them.
  kP50,
  kP90,
  kP95,
  kP99,
};

struct Aggregation {
  AggregateFunction function = AggregateFunction::kAuto;
  // What groups are kept apart by. By counters they are always, but for ...
  bool by_machine = false;
  bool by_instance = false;
  // ... this: all counters of a counterset that are of the same unit.
  bool across_counters = false;
  std::vector<std::string> labels;  // names, of the machines' agents' labels
};

// The labels of a machine's agent.
using Labels = std::map<std::string, std::string>;

// The values of one window of a group's series. The average of ratios (types
// with a base) is the sum of their numerators by that of their denominators if
// they are of one formula, of everything else that of the values.
class AggregatedWindow {
 public:
  // Of a percentile, it keeps all values.
  void Add(const CounterFormula& formula, AggregateFunction function,
           const WindowValue& value);
  WindowValue Finish(AggregateFunction function) const;

  // How many values it holds.
  size_t held() const { return 1 + values_.size(); }

 private:
  double Combined(AggregateFunction function) const;
  double Percentile(size_t percent) const;

  CounterFormula formula_;    // of the first
  uint64_t series_ = 0;       // all of them
  uint64_t with_values_ = 0;  // those with a value
  uint64_t with_growth_ = 0;  // those whose value is that of a ratio's growth
  double sum_ = 0;
  double smallest_ = 0;
  double largest_ = 0;
  std::vector<double> values_;
  Growth growth_;
  uint64_t breaks_ = 0;
  double coverage_ = 0;
  CalculatedValue problem_;  // of the last series without a value
  GapCause cause_ = GapCause::kNone;
};

// Thread-compatible.
class GroupedSeries {
 public:
  explicit GroupedSeries(const Aggregation& aggregation)
      : aggregation_(aggregation) {}

  // `result` is what the series found comes to, and has its name. `has_windows`
  // says whether its points are of a step's windows, which have the same times
  // in all series.
  void Add(const FoundSeries& found, const Labels& labels,
           const SeriesResult& result, bool has_windows);

  // How many windows and values it holds, of all groups.
  size_t held() const { return held_; }

  // The groups, by counter, machine, labels and instance. It is empty then.
  std::vector<SeriesResult> Take();

 private:
  // Counterset, counter or unit, type, and what groups are kept apart by.
  using Key = std::tuple<std::string, std::string, uint32_t, std::string,
                         std::vector<std::string>, std::string>;
  struct State {
    v1::Series series;
    AggregateFunction function;
    std::map<absl::Time, AggregatedWindow> windows;
    AggregatedWindow total;
    absl::Time newest = absl::InfinitePast();
    bool has_windows = false;
  };

  Key KeyOf(const v1::Series& series, const Labels& labels) const;
  // What the group of `series` is called.
  v1::Series Describe(const v1::Series& series, const Labels& labels) const;

  const Aggregation aggregation_;
  std::map<Key, State> groups_;
  size_t held_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_AGGREGATION_H_
