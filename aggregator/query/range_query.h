// Range queries: the values of stored series in windows of time.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RANGE_QUERY_H_
#define FLEETPERF_AGGREGATOR_QUERY_RANGE_QUERY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/formula/window.h"
#include "aggregator/query/aggregation.h"
#include "aggregator/query/range_evaluator.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator {

struct RangeRequest {
  std::vector<std::string> paths;
  // Exactly one of these. `since` is counted from the end.
  std::optional<absl::Duration> since;
  std::optional<absl::Time> start;
  std::optional<absl::Time> end;  // nothing: now, by the machine's clock
  absl::Duration step;            // 0: one window
  Over over = Over::kFormula;
  uint32_t top = 0;  // 0: all
  // Combines series; nothing: each for itself.
  std::optional<Aggregation> aggregation = std::nullopt;
};

struct SeriesResult {
  v1::Series series;
  std::vector<Point> points;
  WindowValue total;  // over the whole range
};

// The windows of a request, for a machine whose time of day is `now`. An error
// says what is wrong with the range.
absl::StatusOr<WindowGrid> GridOf(const RangeRequest& request, absl::Time now);

// A machine's time of day.
using MachineNow = std::function<absl::Time(const std::string& machine)>;

// By machine and path, or the largest total first if `top` is set; then
// aggregate instances are left out unless they are named. Nothing stored in
// this time is no error. Errors as QueryService.QueryRange has them.
absl::StatusOr<std::vector<SeriesResult>> RunRangeQuery(
    const RangeRequest& request, Store& store, const MachineNow& now_of);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RANGE_QUERY_H_
