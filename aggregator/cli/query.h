// What commands that ask for values of the past share.

#ifndef FLEETPERF_AGGREGATOR_CLI_QUERY_H_
#define FLEETPERF_AGGREGATOR_CLI_QUERY_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/cli/command_progress.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/connection.h"
#include "aggregator/cli/values.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// What the flags ask for. Errors name the flag.
absl::StatusOr<v1::QueryRangeRequest> MakeRequest(const QueryFlags& flags);

// "> 90"
absl::StatusOr<v1::Condition> ParseCondition(absl::string_view text);

// Asks, shows progress, and calls `use` with each series and its values, as the
// flags want them shown. `printing` says whether `use` prints them. A NotFound
// error if there are none.
absl::Status ForEachResult(
    const Connection& connection, const QueryFlags& flags,
    const v1::QueryRangeRequest& request, Printing printing,
    const std::function<void(const v1::Series&, const Value&)>& use);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_QUERY_H_
