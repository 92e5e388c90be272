// Reports the machines that stopped before the range of a query.

#ifndef FLEETPERF_AGGREGATOR_QUERY_SILENT_MACHINES_H_
#define FLEETPERF_AGGREGATOR_QUERY_SILENT_MACHINES_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/resolver.h"

namespace fleetperf::aggregator {

// A machine whose newest sample is older than this at the start of the range
// counts as decommissioned.
inline constexpr absl::Duration kMissedFor = absl::Hours(24 * 7);

// Reports the selected machines whose newest sample is at or before the start
// of the range, by at most kMissedFor, unless a path names the machine: without
// samples, such a path is missing. `start_of` returns the start of a machine's
// range.
absl::Status ReportSilent(
    const QueryContext& context, const PathSet& paths, const Selected& selected,
    absl::FunctionRef<absl::StatusOr<absl::Time>(const std::string&)> start_of);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_SILENT_MACHINES_H_
