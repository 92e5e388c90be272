#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>

#include "cli/enrolment_server.h"

namespace fleetperf::cli {

absl::Status ServeEnrolment(const std::string&,
                            const std::shared_ptr<grpc::ServerCredentials>&,
                            std::unique_ptr<grpc::Service>, StopSignal*) {
  return absl::UnimplementedError(
      "pki serve runs on Linux only: copy the authority's directory to a Linux "
      "machine, or make certificates here with: fleetperf pki issue agent "
      "NAME");
}

}  // namespace fleetperf::cli
