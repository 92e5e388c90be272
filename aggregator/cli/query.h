// Shared code of commands that query stored values.

#ifndef FLEETPERF_AGGREGATOR_CLI_QUERY_H_
#define FLEETPERF_AGGREGATOR_CLI_QUERY_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/cli/command_progress.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/values.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// Converts the flags to a request. Errors name the flag.
absl::StatusOr<v1::QueryRangeRequest> MakeRequest(const QueryFlags& flags);

// Parses "> 90".
absl::StatusOr<v1::Condition> ParseCondition(absl::string_view text);

// Runs the query, shows progress, and calls `use` with each series and value,
// adjusted as the flags demand. `printing` says whether `use` prints values.
// Returns NotFound if there are none.
absl::Status ForEachResult(
    const Connection& connection, const QueryFlags& flags,
    const v1::QueryRangeRequest& request, Printing printing,
    const std::function<void(const v1::Series&, const Value&)>& use);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_QUERY_H_
