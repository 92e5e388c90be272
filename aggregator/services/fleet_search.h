// Finds counters, instances and machines by everyday words.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_FLEET_SEARCH_H_
#define FLEETPERF_AGGREGATOR_SERVICES_FLEET_SEARCH_H_

#include "absl/status/status.h"
#include "aggregator/query/machine_filter.h"
#include "aggregator/services/admission.h"
#include "aggregator/services/read_scope.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {

// Returns InvalidArgument if there are no words, or too many.
absl::Status CheckFindRequest(const v1::FindRequest& request);

// Answers a request with the things of the matching machines. Instances are
// those of the newest samples, so that no agent is asked. Returns NotFound if
// there is no such counterset, and Cancelled if the caller is gone.
absl::Status SearchFleet(const v1::FindRequest& request,
                         const MachineFilter& machines, const ReadScope& scope,
                         const Caller& caller, v1::FindResponse* response);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_FLEET_SEARCH_H_
