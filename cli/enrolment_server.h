// The server of `fleetperf pki serve`, the process with the authority's key.

#ifndef FLEETPERF_CLI_ENROLMENT_SERVER_H_
#define FLEETPERF_CLI_ENROLMENT_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/daemon/daemon.h"

namespace grpc {
class ServerCredentials;
class Service;
}  // namespace grpc

namespace fleetperf::cli {

// Serves `service` to clients without certificates at `listen`, "host:port",
// until `stop` is raised. Has the guards of the aggregator's port, with smaller
// limits (docs/reference/security.md). Returns Unavailable if the address
// cannot be bound, and Unimplemented on Windows, which has no such guards.
absl::Status ServeEnrolment(
    const std::string& listen,
    const std::shared_ptr<grpc::ServerCredentials>& credentials,
    std::unique_ptr<grpc::Service> service, StopSignal* stop);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_ENROLMENT_SERVER_H_
