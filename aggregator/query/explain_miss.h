// Why a path selects nothing that is collected: with what catalogues say.

#ifndef FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_MISS_H_
#define FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_MISS_H_

#include <string>

#include "absl/status/status.h"
#include "aggregator/query/fleet.h"

namespace fleetperf::aggregator {

// If `status` is that of a path that PathSet::Select found nothing for, one
// that says on how many machines it could be collected and how, or which of the
// names that are in catalogues is nearest; otherwise `status`.
absl::Status ExplainMiss(const absl::Status& status, Fleet* fleet);

// NotFound: no machine's catalogue has what the path selects.
absl::Status NotInCatalogues(const std::string& path, Fleet* fleet);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_EXPLAIN_MISS_H_
