// Range queries: the values of stored series in windows of time.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RANGE_QUERY_H_
#define FLEETPERF_AGGREGATOR_QUERY_RANGE_QUERY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/query/aggregation.h"
#include "aggregator/query/choice.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/range_evaluator.h"
#include "aggregator/query/series_result.h"
#include "values/window.h"

namespace fleetperf::aggregator {

struct RangeRequest {
  std::vector<std::string> paths;  // or expressions
  // Exactly one of these is set. `since` is the time before the end.
  std::optional<absl::Duration> since;
  std::optional<absl::Time> start;
  std::optional<absl::Time> end;  // std::nullopt: now, by the machine's clock
  absl::Duration step;            // 0: one window
  Over over = Over::kFormula;
  Choice choice = {};
  // Combines series; std::nullopt: does not. Expressions apply to the combined
  // series.
  std::optional<Aggregation> aggregation = std::nullopt;
  MachineFilter machines = {};
  // Whether a wildcard selects aggregate instances, too. Choices and
  // combinations omit them in any case.
  bool unnamed_aggregates = true;
};

// Returns the windows of a request for a machine whose clock is at `now`.
// Returns InvalidArgument if the range is invalid.
absl::StatusOr<WindowGrid> GridOf(const RangeRequest& request,
                                  const QueryLimits& limits, absl::Time now);

// Passes the answer on by OrderKey, one machine at a time, unless series are
// ranked or combined over machines. Choices and combinations omit
// aggregate instances, unless a path names them. A range without stored samples
// is not an error, unless the context reports missing paths. Returns the errors
// of QueryService.QueryRange.
absl::Status RunRangeQuery(const RangeRequest& request,
                           const QueryContext& context, ResultSink sink);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RANGE_QUERY_H_
