#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>

#include <utility>
#include <vector>

#include "base/server/client_certificates.h"
#include "base/server/rpc_server.h"
#include "base/status_macros.h"
#include "cli/enrolment_server.h"

namespace fleetperf::cli {
namespace {

// An enrolment takes a second, so few connections are open at a time. All
// clients are strangers: none may hold a connection for long.
constexpr ConnectionLimits kConnections = {
    .max = 256, .max_per_address = 64, .max_unauthenticated = 64};
constexpr CallBounds kBounds = {.threads = 16,
                                .max_message_bytes = 64 << 10,
                                .memory = 64 << 20,
                                .connection_age = absl::Seconds(30),
                                .has_reflection = false};

constexpr absl::Duration kStopTime = absl::Seconds(10);

}  // namespace

absl::Status ServeEnrolment(
    const std::string& listen,
    const std::shared_ptr<grpc::ServerCredentials>& credentials,
    std::unique_ptr<grpc::Service> service, StopSignal* stop) {
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(std::move(service));
  ASSIGN_OR_RETURN(
      const auto server,
      RpcServer::Start(listen, /*address_file=*/"", kConnections, credentials,
                       std::make_shared<ClientCertificates>(), services,
                       /*streams=*/{}, kBounds));
  RETURN_IF_ERROR(stop->EndWithin(kStopTime));
  stop->Wait();
  return absl::OkStatus();
}

}  // namespace fleetperf::cli
