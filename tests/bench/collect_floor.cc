// A stand-in for an aggregator that acknowledges all batches and discards them.
// Its cost is a lower bound: the cost of gRPC, TLS and the operating system.
//
//   collect_floor --config FILE
//
// FILE is an aggregator's configuration file.

#include <memory>
#include <vector>

#include "aggregator/config.h"
#include "base/daemon/daemon.h"
#include "base/logging.h"
#include "base/os/os.h"
#include "base/rpc/rpc_log.h"
#include "base/server/rpc_server.h"
#include "base/server/rpc_stream.h"
#include "base/status_macros.h"
#include "base/tls/credentials.h"
#include "fleetperf/v1/collection.grpc.pb.h"

namespace fleetperf::bench {
namespace {

using AsyncCollectStream =
    grpc::ServerAsyncReaderWriter<v1::CollectResponse, v1::CollectRequest>;

// At most one write is in flight; batches that arrive during it are
// acknowledged by the next one. Runs entirely on the loop's thread.
class Stream : public RpcStream<AsyncCollectStream> {
 public:
  Stream(v1::CollectionService::AsyncService* service, EventLoop* loop)
      : RpcStream(loop), service_(*service) {
    service->RequestCollect(&context(), &stream(), &loop->queue(),
                            &loop->queue(), accepted());
  }

 private:
  void OnStart() override {
    new Stream(&service_, &loop());
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
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
    is_writing_ = false;
    if (ended_) return FinishUnlessWriting();
    WriteAck();
  }

  void OnCancel() override {
    ended_ = true;
    FinishUnlessWriting();
  }

  void WriteWelcome() {
    response_.mutable_welcome()
        ->mutable_limits()
        ->set_max_unacknowledged_batches(
            aggregator::IngestLimits().max_unacknowledged_batches);
    Write();
  }

  void WriteAck() {
    if (is_writing_ || received_ == acknowledged_) return;
    acknowledged_ = received_;
    response_.mutable_ack()->set_epoch(epoch_);
    response_.mutable_ack()->set_sequence(acknowledged_);
    Write();
  }

  void Write() {
    is_writing_ = true;
    StartWrite(response_);
  }

  void FinishUnlessWriting() {
    if (is_writing_ || is_finished_) return;
    is_finished_ = true;
    Finish(grpc::Status::OK);
  }

  v1::CollectionService::AsyncService& service_;
  v1::CollectRequest request_;
  v1::CollectResponse response_;
  uint64_t epoch_ = 0;
  uint64_t received_ = 0;
  uint64_t acknowledged_ = 0;
  bool is_writing_ = false;
  bool ended_ = false;
  bool is_finished_ = false;
};

class Service : public StreamService {
  grpc::Service& service() override { return service_; }
  void AcceptOn(EventLoop* loop) override { new Stream(&service_, loop); }

  v1::CollectionService::AsyncService service_;
};

absl::Status Run(const std::string& config_path, StopSignal& stop) {
  ASSIGN_OR_RETURN(const aggregator::Config config,
                   aggregator::LoadConfig(config_path));
  RETURN_IF_ERROR(StartLogging("collect_floor", config.log));
  SendRpcLogs();
  RaiseOpenFileLimit();
  ASSIGN_OR_RETURN(const auto credentials, ServerCredentials(config.tls));
  std::vector<std::unique_ptr<StreamService>> streams;
  streams.push_back(std::make_unique<Service>());
  ASSIGN_OR_RETURN(
      const auto server,
      RpcServer::Start(config.listen, config.address_file, config.connections,
                       credentials, std::make_shared<ClientCertificates>(),
                       /*services=*/{}, streams));
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
