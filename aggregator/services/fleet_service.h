// The gRPC service that lists machines, their countersets and instances.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_FLEET_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_FLEET_SERVICE_H_

#include <memory>

#include "aggregator/services/fleet_lists.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

// The objects that `lists` refers to must outlive the server that the service
// is registered with.
std::unique_ptr<grpc::Service> MakeFleetService(const FleetLists& lists);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_FLEET_SERVICE_H_
