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
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator {

enum class AggregateFunction : uint8_t {
  kAuto,  // the counter's own AggregateFunc, else what suits its type
  kAverage,
  kSum,
  kMinimum,
  kMaximum,
  kCount,  // of the series with a value
};

struct Aggregation {
  AggregateFunction function = AggregateFunction::kAuto;
  // What groups are kept apart by, besides their counter.
  bool by_machine = false;
  bool by_instance = false;
};

// The values of one window of a group's series. The average of ratios (types
// with a base) is the sum of their numerators by that of their denominators, of
// everything else that of the values.
class AggregatedWindow {
 public:
  void Add(const CounterFormula& formula, const WindowValue& value);
  WindowValue Finish(const CounterFormula& formula,
                     AggregateFunction function) const;

 private:
  double Combined(const CounterFormula& formula,
                  AggregateFunction function) const;

  uint64_t series_ = 0;       // all of them
  uint64_t with_values_ = 0;  // those with a value
  uint64_t with_growth_ = 0;  // those whose value is that of a ratio's growth
  double sum_ = 0;
  double smallest_ = 0;
  double largest_ = 0;
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

  // `has_windows` says whether the points are of a step's windows, which have
  // the same times in all series.
  void Add(const FoundSeries& series, const std::vector<Point>& points,
           const WindowValue& total, bool has_windows);

  // How many windows it holds, of all groups.
  size_t windows() const { return windows_; }

  struct Group {
    v1::Series series;
    std::vector<Point> points;
    WindowValue total;
  };
  // By counter, machine and instance.
  std::vector<Group> Finish() const;

 private:
  // Counterset, counter, type, and what groups are kept apart by.
  using Key =
      std::tuple<std::string, std::string, uint32_t, std::string, std::string>;
  struct State {
    v1::Series series;
    CounterFormula formula;
    AggregateFunction function;
    std::map<absl::Time, AggregatedWindow> windows;
    AggregatedWindow total;
    absl::Time newest = absl::InfinitePast();
    bool has_windows = false;
  };

  const Aggregation aggregation_;
  std::map<Key, State> groups_;
  size_t windows_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_AGGREGATION_H_
