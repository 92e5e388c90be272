// The answer for one series, or for several that were made one.

#ifndef FLEETPERF_AGGREGATOR_QUERY_SERIES_RESULT_H_
#define FLEETPERF_AGGREGATOR_QUERY_SERIES_RESULT_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator/query/interval_set.h"
#include "aggregator/query/range_evaluator.h"
#include "aggregator/query/window_grid.h"
#include "fleetperf/v1/values.pb.h"
#include "values/exact_sum.h"
#include "values/window.h"

namespace fleetperf::aggregator {

// The tick intervals of a series, by window.
struct SeriesIntervals {
  WindowGrid grid;
  IntervalSet there;
  IntervalSet known;  // without the series' own breaks
};

struct SeriesResult {
  v1::Series series;
  std::vector<Point> points;
  WindowValue total;         // over the whole range
  bool is_weighted = false;  // see IsWeighted
  // Without a step: the time of the newest sample, if the range goes on for
  // more than kMaxIntervalsApart after it.
  std::optional<absl::Time> stopped;
  // The time of the newest sample, if later ticks show that the instance ended.
  std::optional<absl::Time> ended;
  // The end of the range by the machine's clock, unless the request has one.
  std::optional<absl::Time> range_end;
  // The value over the whole range times its weight, by which series rank. Set
  // by Chooser unless there is no value.
  std::optional<double> share;
  // Only for operands of an expression. Null if a part is thinned.
  std::shared_ptr<const SeriesIntervals> intervals = nullptr;
  // Only for operands that are sums or differences: the exact numbers of the
  // points, and of the total at the end. Otherwise empty.
  std::vector<ExactSum> sums = {};
};

// Returns the weight of a value of the series.
inline double WeightOf(const SeriesResult& result, const WindowValue& value) {
  return result.is_weighted ? value.presence : 1;
}

// Takes an answer, series by series. An error ends the query.
using ResultSink = absl::FunctionRef<absl::Status(SeriesResult)>;

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_SERIES_RESULT_H_
