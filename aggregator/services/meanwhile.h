// What agents are to collect while somebody looks.

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
  std::set<std::string> countersets;  // their names
  size_t away_machines = 0;           // whose agents are not connected
};

// `selected` is what is to be collected, of machines' catalogues; all instances
// are. `is_connected` says whether a machine's own agent is. Errors: NotFound
// if none is, ResourceExhausted if it is too much.
absl::StatusOr<Meanwhile> PlanMeanwhile(
    const Selected& selected, absl::Duration interval,
    const std::function<bool(const std::string& machine)>& is_connected);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_MEANWHILE_H_
