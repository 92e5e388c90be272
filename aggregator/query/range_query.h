// Range queries: the values of stored series in windows of time.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RANGE_QUERY_H_
#define FLEETPERF_AGGREGATOR_QUERY_RANGE_QUERY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/formula/window.h"
#include "aggregator/query/aggregation.h"
#include "aggregator/query/choice.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/range_evaluator.h"
#include "aggregator/query/series_result.h"

namespace fleetperf::aggregator {

struct RangeRequest {
  std::vector<std::string> paths;  // or expressions
  // Exactly one of these. `since` is counted from the end.
  std::optional<absl::Duration> since;
  std::optional<absl::Time> start;
  std::optional<absl::Time> end;  // nothing: now, by the machine's clock
  absl::Duration step;            // 0: one window
  Over over = Over::kFormula;
  Choice choice = {};
  // Combines series; nothing: each for itself. Expressions are of what comes of
  // that.
  std::optional<Aggregation> aggregation = std::nullopt;
};

// The windows of a request, for a machine whose time of day is `now`. An error
// says what is wrong with the range.
absl::StatusOr<WindowGrid> GridOf(const RangeRequest& request,
                                  const QueryLimits& limits, absl::Time now);

// Hands on the answer by machine and path, machine by machine as they are read,
// unless series are ranked, or combined over machines. Those that are chosen or
// combined are without aggregate instances, unless these are named. Nothing
// stored in this time is no error. Errors as QueryService.QueryRange has them.
absl::Status RunRangeQuery(const RangeRequest& request,
                           const QueryContext& context, ResultSink sink);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RANGE_QUERY_H_
