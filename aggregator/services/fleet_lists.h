// Lists machines, their countersets, counters and instances, for any transport.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_FLEET_LISTS_H_
#define FLEETPERF_AGGREGATOR_SERVICES_FLEET_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/ingest/expected_machines.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/query/fleet.h"
#include "aggregator/services/admission.h"
#include "aggregator/services/work_slots.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {

// Answers the requests of FleetService and returns its errors. The caller must
// be a reader or an operator. Thread-safe.
class FleetLists {
 public:
  // Each call takes one of `slots`. The arguments must outlive the object.
  FleetLists(Store* store, Fleet* fleet, Ingest* ingest,
             const ExpectedMachines* expected, WorkSlots* slots)
      : store_(*store),
        fleet_(*fleet),
        ingest_(*ingest),
        expected_(*expected),
        slots_(*slots) {}

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
  // Returns the next machines, stored or expected, by name.
  std::vector<v1::Machine> MachinesAfter(const std::string& last) const;
  // Adds what the store's description of a machine lacks.
  void Describe(bool with_plan_report, v1::Machine* stored) const;
  // Adds instances until the page is full, of the first machine those after the
  // first `first_skipped`, if it is `first_machine`.
  void AddInstances(std::vector<std::string> machines,
                    const perflib::Guid& counterset,
                    const std::string& first_machine, size_t first_skipped,
                    uint32_t page_size,
                    v1::ListInstancesResponse* response) const;
  // Returns the instances in the machine's newest samples.
  std::vector<perflib::InstanceName> StoredInstances(
      const std::string& machine, const perflib::Guid& counterset) const;

  Store& store_;
  Fleet& fleet_;
  Ingest& ingest_;
  const ExpectedMachines& expected_;
  WorkSlots& slots_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_FLEET_LISTS_H_
