#include "tests/bench/fleet_watch.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdint>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_error.h"
#include "base/status_macros.h"
#include "fleetperf/v1/subscription.grpc.pb.h"

namespace fleetperf::bench {
namespace {

constexpr char kWatched[] = R"(\Processor Information(0,1)\User Time)";

}  // namespace

struct FleetWatch::Stream {
  std::unique_ptr<v1::SubscriptionService::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::SubscribeResponse>> reader;
  std::thread thread;
  Watched watched;  // used only by `thread` while it runs
  absl::Time began;

  ~Stream() {
    context.TryCancel();
    if (thread.joinable()) thread.join();
  }

  // Waits for the samples stored so far, which are not counted.
  absl::Status Begin() {
    v1::SubscribeResponse response;
    if (!reader->Read(&response)) {
      return StatusFromRpc(reader->Finish(), "the aggregator");
    }
    began = absl::Now();
    return absl::OkStatus();
  }

  void ReadAll() {
    v1::SubscribeResponse response;
    while (reader->Read(&response)) Take(response, absl::Now());
    reader->Finish().error_code();  // cancelled
  }

  void Take(const v1::SubscribeResponse& response, absl::Time now) {
    watched.lagged += response.lagged();
    for (const v1::Points& points : response.points()) {
      int64_t nanos = 0;
      for (const int64_t difference : points.time_unix_nanos()) {
        nanos += difference;
        const absl::Time taken = absl::FromUnixNanos(nanos);
        if (taken <= began) continue;
        watched.samples.push_back({.taken = taken, .received = now});
      }
    }
  }
};

absl::StatusOr<std::unique_ptr<FleetWatch>> FleetWatch::Start(
    const std::string& address, const TlsFiles& tls) {
  ASSIGN_OR_RETURN(const auto credentials, ClientCredentials(tls));
  auto stream = std::make_unique<Stream>();
  stream->stub =
      v1::SubscriptionService::NewStub(MakeChannel(address, credentials));
  v1::SubscribeRequest request;
  request.add_paths(kWatched);
  stream->reader = stream->stub->Subscribe(&stream->context, request);
  RETURN_IF_ERROR(stream->Begin());
  Stream* const reading = stream.get();
  stream->thread = std::thread([reading] { reading->ReadAll(); });
  return std::unique_ptr<FleetWatch>(new FleetWatch(std::move(stream)));
}

FleetWatch::FleetWatch(std::unique_ptr<Stream> stream)
    : stream_(std::move(stream)) {}

FleetWatch::~FleetWatch() = default;

FleetWatch::Watched FleetWatch::Stop() {
  stream_->context.TryCancel();
  stream_->thread.join();
  return std::move(stream_->watched);
}

}  // namespace fleetperf::bench
