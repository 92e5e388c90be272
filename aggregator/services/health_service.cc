#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/services/services.h"
#include "base/rpc/rpc_error.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace fleetperf::aggregator {
namespace {

using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;

constexpr char kLive[] = "live";

class HealthService : public Health::Service {
 public:
  explicit HealthService(std::function<absl::Status()> is_ready)
      : is_ready_(std::move(is_ready)) {}

  grpc::Status Check(grpc::ServerContext*, const HealthCheckRequest* request,
                     HealthCheckResponse* response) override {
    if (!request->service().empty() && request->service() != kLive) {
      return RpcFromStatus(absl::NotFoundError(absl::StrCat(
          "there is no service \"", request->service(),
          "\"; the empty name asks whether the server is ready, and \"", kLive,
          "\" whether it answers")));
    }
    const bool serves = request->service() == kLive || is_ready_().ok();
    response->set_status(serves ? HealthCheckResponse::SERVING
                                : HealthCheckResponse::NOT_SERVING);
    return grpc::Status::OK;
  }

 private:
  const std::function<absl::Status()> is_ready_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeHealthService(
    std::function<absl::Status()> is_ready) {
  return std::make_unique<HealthService>(std::move(is_ready));
}

}  // namespace fleetperf::aggregator
