// Explains values: the samples and the calculation behind them.

#ifndef FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_H_
#define FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/query/range_query.h"
#include "aggregator/store/readable_store.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::aggregator {

// Explains the value at `time` (std::nullopt: the newest) of each selected
// series. The value is that of the newest sample at or before `time`, at most
// two intervals old. Also reports the countersets whose last query at or before
// `time` failed. Returns the errors of RunRangeQuery.
absl::StatusOr<v1::ExplainValueResponse> RunExplain(
    const std::string& path, std::optional<absl::Time> time,
    ReadableStore& store, const MachineNow& now_of,
    const MachineFilter& machines = {}, const IsCancelled& is_cancelled = {});

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_H_
