// Explains with the machines' catalogues why a path selects no collected
// counters.

#ifndef FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_MISS_H_
#define FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_MISS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "aggregator/query/fleet.h"

namespace fleetperf::aggregator {

// The number of errors of a request to explain: each takes a search of all
// catalogues.
inline constexpr size_t kMaxMissesExplained = 10;

// If `status` is an error of PathSet::Select, returns an error with the number
// of machines that could collect the path and the way to do so, or with the
// nearest name in the catalogues. Otherwise returns `status`. Considers only
// machines that match; keeps the payload of PathOf. Returns `status`, too, if
// the caller is gone.
absl::Status ExplainMiss(const absl::Status& status, Fleet* fleet,
                         const MachineFilter& machines = {},
                         const IsCancelled& is_cancelled = nullptr);

// Returns NotFound with the reason why no machine's catalogue matches the path.
absl::Status NotInCatalogues(const std::string& path, Fleet* fleet,
                             const MachineFilter& machines = {});

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_MISS_H_
