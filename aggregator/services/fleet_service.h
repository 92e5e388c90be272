// The gRPC service that lists machines, their countersets and instances.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_FLEET_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_FLEET_SERVICE_H_

#include <memory>

#include "aggregator/ingest/expected_machines.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/query/fleet.h"
#include "aggregator/services/work_slots.h"
#include "aggregator/store/store.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

// Each call takes one of `slots`. The arguments must outlive the server that
// the service is registered with.
std::unique_ptr<grpc::Service> MakeFleetService(
    Store* store, Fleet* fleet, Ingest* ingest,
    const ExpectedMachines* expected, WorkSlots* slots);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_FLEET_SERVICE_H_
