// How a value came about.

#ifndef FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_H_
#define FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/query/range_query.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::aggregator {

// Explains the value at `time` (nothing: the newest) of each series that the
// path selects: that of the newest sample at or before it, which is at most two
// intervals old. Errors as RunRangeQuery.
absl::StatusOr<v1::ExplainValueResponse> RunExplain(
    const std::string& path, std::optional<absl::Time> time, Store& store,
    const MachineNow& now_of);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_H_
