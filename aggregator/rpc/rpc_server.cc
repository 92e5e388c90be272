#include "aggregator/rpc/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aggregator/rpc/event_loop.h"
#include "aggregator/rpc/health_service.h"
#include "base/channel.h"
#include "base/files.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// How long open calls may take when the server stops.
constexpr absl::Duration kShutdownTime = absl::Seconds(1);

// See event_loop.h. Four are enough for tens of thousands of agents.
size_t CountLoops() {
  return std::clamp<size_t>(std::thread::hardware_concurrency() / 4, 1, 4);
}

void SetArguments(grpc::ServerBuilder* builder) {
  // Two servers on one port would share its clients at random.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  // Agents and subscribers send keepalive pings, too.
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  // With each message gRPC would send a ping, to learn how much may be under
  // way. Agents send little.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder->SetMaxReceiveMessageSize(kMaxMessageBytes);
}

}  // namespace

RpcServer::RpcServer() = default;

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const std::string& listen, const std::string& address_file,
    const std::shared_ptr<grpc::ServerCredentials>& credentials,
    absl::Span<const std::unique_ptr<grpc::Service>> services,
    absl::Span<const std::unique_ptr<StreamService>> streams) {
  std::unique_ptr<RpcServer> server(new RpcServer);
  server->health_ = MakeHealthService();
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(listen, credentials, &port);
  SetArguments(&builder);
  builder.RegisterService(server->health_.get());
  for (const auto& service : services) builder.RegisterService(service.get());
  for (const auto& stream : streams) {
    builder.RegisterService(&stream->service());
  }
  for (size_t i = 0; i < CountLoops(); ++i) {
    server->loops_.push_back(
        std::make_unique<EventLoop>(builder.AddCompletionQueue()));
  }
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on ", listen,
        ": the port is taken by another process, or the address is not this "
        "machine's"));
  }
  for (const auto& stream : streams) {
    for (const auto& loop : server->loops_) stream->AcceptOn(loop.get());
  }
  server->address_ =
      absl::StrCat(listen.substr(0, listen.rfind(':')), ":", port);
  if (!address_file.empty()) {
    RETURN_IF_ERROR(WriteFile(address_file, server->address_ + "\n"));
  }
  spdlog::info("listening on {}", server->address_);
  return server;
}

RpcServer::~RpcServer() {
  if (server_ != nullptr) {
    server_->Shutdown(absl::ToChronoTime(absl::Now() + kShutdownTime));
  }
}

}  // namespace fleetperf::aggregator
