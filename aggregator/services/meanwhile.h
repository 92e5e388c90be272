// The queries that agents run only while a client watches.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_MEANWHILE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_MEANWHILE_H_

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/plan/planner.h"
#include "aggregator/query/resolver.h"

namespace fleetperf::aggregator {

struct Meanwhile {
  Planner::QueriesByAgent queries;
  std::set<std::string> countersets;  // names
  size_t away_machines = 0;           // machines without a connected agent
};

// Plans the collection of all instances of `selected`, which comes from the
// machines' catalogues. `is_connected` returns whether a machine's own agent is
// connected. Returns NotFound if no such agent is connected, and
// ResourceExhausted if too many machines or countersets are selected.
absl::StatusOr<Meanwhile> PlanMeanwhile(
    const Selected& selected, absl::Duration interval,
    const std::function<bool(const std::string& machine)>& is_connected);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_MEANWHILE_H_
