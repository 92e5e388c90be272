#include "aggregator/services/administration_service.h"

#include <grpcpp/server_context.h>
#include <spdlog/spdlog.h>

#include "aggregator/rpc/access.h"
#include "aggregator/rpc/working_call.h"
#include "base/excerpt.h"
#include "base/printable.h"
#include "base/rpc_error.h"
#include "base/version.h"
#include "fleetperf/v1/administration.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The interval of progress messages during a backup.
constexpr uint64_t kBytesBetweenResponses = 64 << 20;

class AdministrationService : public v1::AdministrationService::Service {
 public:
  AdministrationService(Store* store, ClockGuard* guard, const Clock* clock)
      : store_(*store),
        guard_(*guard),
        clock_(*clock),
        started_(clock->Monotonic()) {}

  grpc::Status GetStatus(grpc::ServerContext* context,
                         const v1::GetStatusRequest*,
                         v1::GetStatusResponse* response) override {
    const auto peer = CheckAccess(*context, {Role::kReader, Role::kOperator});
    if (!peer.ok()) return RpcFromStatus(peer.status());
    response->set_version(kVersion);
    *response->mutable_time() = ToProto(clock_.Now());
    *response->mutable_uptime() = ToProto(clock_.Monotonic() - started_);
    if (const auto hold = guard_.hold()) {
      *response->mutable_clock_hold()->mutable_jump() = ToProto(hold->jump);
      *response->mutable_clock_hold()->mutable_left() = ToProto(hold->left);
    }
    return grpc::Status::OK;
  }

  grpc::Status ConfirmClock(grpc::ServerContext* context,
                            const v1::ConfirmClockRequest*,
                            v1::ConfirmClockResponse* response) override {
    const auto peer = CheckAccess(*context, {Role::kOperator});
    if (!peer.ok()) return RpcFromStatus(peer.status());
    response->set_was_held(guard_.Confirm());
    *response->mutable_time() = ToProto(clock_.Now());
    return grpc::Status::OK;
  }

  grpc::Status Backup(grpc::ServerContext* context,
                      const v1::BackupRequest* request,
                      grpc::ServerWriter<v1::BackupResponse>* writer) override {
    const auto peer = CheckAccess(*context, {Role::kOperator});
    if (!peer.ok()) return RpcFromStatus(peer.status());
    WorkingCall call(context);
    uint64_t reported = 0;
    v1::BackupResponse response;
    const absl::Status status = store_.Backup(
        request->directory(), [&](uint64_t bytes, uint64_t total) {
          response.set_bytes(bytes);
          response.set_total_bytes(total);
          if (call.IsCancelled()) {
            return absl::CancelledError("the caller disconnected");
          }
          if (bytes - reported < kBytesBetweenResponses) {
            return absl::OkStatus();
          }
          reported = bytes;
          return call.Write(response, writer);
        });
    const std::string directory = Excerpt(Printable(request->directory()));
    if (status.ok()) {
      // The backup is complete, also if the caller does not read this.
      call.Write(response, writer).IgnoreError();
      spdlog::info("backed up {} bytes to {}", response.bytes(), directory);
    } else {
      spdlog::warn("no backup to {}: {}", directory,
                   Excerpt(Printable(status.message()), kMaxErrorText));
    }
    return RpcFromStatus(status);
  }

 private:
  Store& store_;
  ClockGuard& guard_;
  const Clock& clock_;
  const absl::Duration started_;  // Clock::Monotonic()
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdministrationService(Store* store,
                                                         ClockGuard* guard,
                                                         const Clock* clock) {
  return std::make_unique<AdministrationService>(store, guard, clock);
}

}  // namespace fleetperf::aggregator
