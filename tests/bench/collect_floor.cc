// What agents take for an aggregator, and what does nothing: it acknowledges
// what comes and forgets it. What it costs is what gRPC, TLS and the system
// cost.
//
//   collect_floor --config FILE
//
// FILE is an aggregator's.

#include <grpcpp/impl/service_type.h>

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/config.h"
#include "aggregator/rpc_server.h"
#include "base/credentials.h"
#include "base/daemon.h"
#include "base/logging.h"
#include "base/os.h"
#include "base/rpc_log.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.grpc.pb.h"

namespace fleetperf::bench {
namespace {

// Lives until OnDone. One write is under way at most; what comes meanwhile is
// acknowledged by the next one.
class Stream
    : public grpc::ServerBidiReactor<v1::CollectRequest, v1::CollectResponse> {
 public:
  Stream() { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    if (!ok) {
      ended_ = true;
      return FinishUnlessWriting();
    }
    if (request_.has_batch()) {
      epoch_ = request_.batch().epoch();
      received_ = request_.batch().sequence();
      WriteAck();
    } else {
      WriteWelcome();
    }
    StartRead(&request_);
  }

  void OnWriteDone(bool) override {
    absl::MutexLock lock(&mutex_);
    is_writing_ = false;
    if (ended_) return FinishUnlessWriting();
    WriteAck();
  }

  void OnDone() override { delete this; }

 private:
  void WriteWelcome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    response_.mutable_welcome()
        ->mutable_limits()
        ->set_max_unacknowledged_batches(
            aggregator::IngestLimits().max_unacknowledged_batches);
    Write();
  }

  void WriteAck() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_writing_ || received_ == acknowledged_) return;
    acknowledged_ = received_;
    response_.mutable_ack()->set_epoch(epoch_);
    response_.mutable_ack()->set_sequence(acknowledged_);
    Write();
  }

  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    is_writing_ = true;
    StartWrite(&response_);
  }

  void FinishUnlessWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!is_writing_) Finish(grpc::Status::OK);
  }

  v1::CollectRequest request_;
  absl::Mutex mutex_;
  v1::CollectResponse response_ ABSL_GUARDED_BY(mutex_);
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t received_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

class Service : public v1::CollectionService::CallbackService {
  grpc::ServerBidiReactor<v1::CollectRequest, v1::CollectResponse>* Collect(
      grpc::CallbackServerContext*) override {
    return new Stream;
  }
};

absl::Status Run(const std::string& config_path, StopSignal& stop) {
  ASSIGN_OR_RETURN(const aggregator::Config config,
                   aggregator::LoadConfig(config_path));
  RETURN_IF_ERROR(StartLogging("collect_floor", config.log));
  SendGrpcLogsToDebug();
  RaiseOpenFileLimit();
  ASSIGN_OR_RETURN(const auto credentials, ServerCredentials(config.tls));
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(std::make_unique<Service>());
  ASSIGN_OR_RETURN(const auto server, aggregator::RpcServer::Start(
                                          config.listen, config.address_file,
                                          credentials, services));
  stop.Wait();
  return absl::OkStatus();
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  return fleetperf::RunDaemon(
      {.name = "collect_floor", .purpose = "Acknowledges what agents send."},
      argc, argv, fleetperf::bench::Run);
}
