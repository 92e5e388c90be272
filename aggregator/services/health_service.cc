#include "aggregator/services/health_service.h"

#include "absl/strings/str_cat.h"
#include "base/rpc_error.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace fleetperf::aggregator {
namespace {

using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;

class HealthService : public Health::Service {
 public:
  grpc::Status Check(grpc::ServerContext*, const HealthCheckRequest* request,
                     HealthCheckResponse* response) override {
    if (!request->service().empty()) {
      return RpcFromStatus(absl::NotFoundError(absl::StrCat(
          "there is no service \"", request->service(),
          "\"; the empty name asks for the health of the whole server")));
    }
    response->set_status(HealthCheckResponse::SERVING);
    return grpc::Status::OK;
  }
};

}  // namespace

std::unique_ptr<grpc::Service> MakeHealthService() {
  return std::make_unique<HealthService>();
}

}  // namespace fleetperf::aggregator
