// Lists machines, their countersets, counters and instances, for any transport.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_FLEET_LISTS_H_
#define FLEETPERF_AGGREGATOR_SERVICES_FLEET_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/services/admission.h"
#include "aggregator/services/own_machines.h"
#include "aggregator/services/read_scope.h"
#include "base/server/caller_quota.h"
#include "fleetperf/v1/fleet.pb.h"
#include "perflib/guid.h"

namespace fleetperf::aggregator {

// Answers the requests of FleetService and returns its errors. The caller must
// be a reader or an operator. Thread-safe.
class FleetLists {
 public:
  // Each call takes a share of Pool::kLists. The arguments must outlive the
  // object.
  FleetLists(const ReadScope* scope, const OwnMachines* own, CallerQuota* quota)
      : scope_(*scope), own_(*own), quota_(*quota) {}

  absl::Status ListMachines(const v1::ListMachinesRequest& request,
                            const Caller& caller,
                            v1::ListMachinesResponse* response) const;
  absl::Status ListCountersets(const v1::ListCountersetsRequest& request,
                               const Caller& caller,
                               v1::ListCountersetsResponse* response) const;
  absl::Status ListCounters(const v1::ListCountersRequest& request,
                            const Caller& caller,
                            v1::ListCountersResponse* response) const;
  absl::Status ListInstances(const v1::ListInstancesRequest& request,
                             const Caller& caller,
                             v1::ListInstancesResponse* response) const;
  absl::Status Find(const v1::FindRequest& request, const Caller& caller,
                    v1::FindResponse* response) const;

 private:
  // Adds instances until the page is full, of the first machine those after the
  // first `first_skipped`, if it is `first_machine`.
  void AddInstances(std::vector<std::string> machines,
                    const perflib::Guid& counterset,
                    const std::string& first_machine, size_t first_skipped,
                    uint32_t page_size,
                    v1::ListInstancesResponse* response) const;

  const ReadScope& scope_;
  const OwnMachines& own_;
  CallerQuota& quota_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_FLEET_LISTS_H_
