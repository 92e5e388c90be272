// gRPC's standard health service, for probes. Replaces gRPC's own
// implementation, whose threads would also serve the streams of event_loop.h.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_HEALTH_SERVICE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_HEALTH_SERVICE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

// The server is SERVING while `is_ready`, which is thread-safe, returns OK. The
// service "live" is SERVING as long as the process answers, so that a monitor
// does not restart an aggregator that waits for disk space.
std::unique_ptr<grpc::Service> MakeHealthService(
    std::function<absl::Status()> is_ready);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_HEALTH_SERVICE_H_
