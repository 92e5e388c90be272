// gRPC's standard health service, for probes. Replaces gRPC's own
// implementation, whose threads would also serve the streams of event_loop.h.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_HEALTH_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_HEALTH_SERVICE_H_

#include <memory>

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

std::unique_ptr<grpc::Service> MakeHealthService();

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_HEALTH_SERVICE_H_
