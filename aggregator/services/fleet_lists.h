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
#include "aggregator/services/work_slots.h"
#include "fleetperf/v1/fleet.pb.h"
#include "perflib/guid.h"

namespace fleetperf::aggregator {

// Answers the requests of FleetService and returns its errors. The caller must
// be a reader or an operator. Thread-safe.
class FleetLists {
 public:
  // Each call takes one of `slots`. The arguments must outlive the object.
  FleetLists(const ReadScopes* scopes, const OwnMachines* own, WorkSlots* slots)
      : scopes_(*scopes), own_(*own), slots_(*slots) {}

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

 private:
  // Adds instances until the page is full, of the first machine those after the
  // first `first_skipped`, if it is `first_machine`.
  void AddInstances(std::vector<std::string> machines,
                    const perflib::Guid& counterset,
                    const std::string& first_machine, size_t first_skipped,
                    uint32_t page_size, const ReadScope& scope,
                    const Caller& caller,
                    v1::ListInstancesResponse* response) const;
  // Asks the agents of own machines, and the peers of others.
  std::vector<MachineInstances> InstancesOf(
      const std::vector<std::string>& machines, const perflib::Guid& counterset,
      const ReadScope& scope, const Caller& caller) const;

  const ReadScopes& scopes_;
  const OwnMachines& own_;
  WorkSlots& slots_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_FLEET_LISTS_H_
