// Shared code of commands that query stored values.

#ifndef FLEETPERF_CLI_QUERY_H_
#define FLEETPERF_CLI_QUERY_H_

#include <functional>

#include "absl/status/status.h"
#include "cli/command_progress.h"
#include "cli/commands.h"
#include "cli/values.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// Runs the query, shows progress, and calls `use` with each series and value,
// adjusted as the flags demand. `printing` says whether `use` prints values.
// Returns NotFound if there are none.
absl::Status ForEachResult(
    const Aggregators& aggregators, const QueryFlags& flags,
    const v1::QueryRangeRequest& request, Printing printing,
    const std::function<void(const v1::Series&, const Value&)>& use);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_QUERY_H_
