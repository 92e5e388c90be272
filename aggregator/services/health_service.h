// gRPC's standard service by which probes ask whether a server is well. gRPC's
// own has threads that would take part in the streams' (event_loop.h).

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
