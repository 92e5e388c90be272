// The gRPC service for the administration of an aggregator: backups, and the
// confirmation of its clock.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_ADMINISTRATION_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_ADMINISTRATION_SERVICE_H_

#include <memory>

#include "aggregator/maintenance/clock_guard.h"
#include "aggregator/store/store.h"
#include "base/clock.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

// The arguments must outlive the server that the service is registered with.
std::unique_ptr<grpc::Service> MakeAdministrationService(Store* store,
                                                         ClockGuard* guard,
                                                         const Clock* clock);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_ADMINISTRATION_SERVICE_H_
