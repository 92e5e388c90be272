#include "aggregator/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/channel.h"
#include "base/files.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// How long open calls may take when the server stops.
constexpr absl::Duration kShutdownTime = absl::Seconds(1);

void SetArguments(grpc::ServerBuilder* builder) {
  // Two servers on one port would share its clients at random.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  // Agents and subscribers send keepalive pings, too.
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder->SetMaxReceiveMessageSize(kMaxMessageBytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const std::string& listen, const std::string& address_file,
    const std::shared_ptr<grpc::ServerCredentials>& credentials,
    absl::Span<const std::unique_ptr<grpc::Service>> services) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(listen, credentials, &port);
  SetArguments(&builder);
  for (const auto& service : services) builder.RegisterService(service.get());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on ", listen,
        ": the port is taken by another process, or the address is not this "
        "machine's"));
  }
  const std::string address =
      absl::StrCat(listen.substr(0, listen.rfind(':')), ":", port);
  if (!address_file.empty()) {
    RETURN_IF_ERROR(WriteFile(address_file, address + "\n"));
  }
  spdlog::info("listening on {}", address);
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(server), address));
}

RpcServer::RpcServer(std::unique_ptr<grpc::Server> server, std::string address)
    : server_(std::move(server)), address_(std::move(address)) {}

RpcServer::~RpcServer() {
  server_->Shutdown(absl::ToChronoTime(absl::Now() + kShutdownTime));
}

}  // namespace fleetperf::aggregator
