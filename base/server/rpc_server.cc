#include "base/server/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/os/files.h"
#include "base/os/memory_limit.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_deadline.h"
#include "base/server/call_observer.h"
#include "base/server/event_loop.h"
#include "base/server/listener.h"
#include "base/server/peer.h"
#include "base/server/tls_guard.h"
#include "base/status_macros.h"

namespace fleetperf {
namespace {

// The time that open calls have to end when the server stops.
constexpr absl::Duration kShutdownTime = absl::Seconds(1);

// See event_loop.h. Four loops are enough for tens of thousands of agents.
size_t CountLoops() {
  return std::clamp<size_t>(std::thread::hardware_concurrency() / 4, 1, 4);
}

// The memory limit for gRPC's connections and calls, not including TLS. With
// TLS, they use 220 KiB per agent (docs/reference/performance.md).
constexpr uint64_t kMinMemory = uint64_t{64} << 20;
constexpr uint64_t kMemoryShare = 2;  // half of the process's memory

static_assert(kMaxMessageBytes >= CallBounds().max_message_bytes);

// The number of calls on a connection. The client's gRPC queues further calls.
constexpr int kMaxStreams = 128;
constexpr int kMaxHeaderBytes = 8 << 10;

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void SetBounds(const CallBounds& bounds, grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              Milliseconds(kHandshakeTime));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxHeaderBytes);
  builder->SetMaxReceiveMessageSize(bounds.max_message_bytes);
  if (bounds.connection_age != absl::InfiniteDuration()) {
    builder->AddChannelArgument(
        GRPC_ARG_MAX_CONNECTION_AGE_MS,
        Milliseconds(bounds.connection_age - kHandshakeTime));
    builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                                Milliseconds(kHandshakeTime));
  }
  grpc::ResourceQuota quota("server");
  quota.Resize(bounds.memory > 0
                   ? bounds.memory
                   : std::max(MemoryLimit() / kMemoryShare, kMinMemory));
  quota.SetMaxThreads(bounds.threads);
  builder->SetResourceQuota(quota);
}

void SetArguments(grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  // Agents and subscribers send keepalive pings, too.
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  // Disables the estimate of the bandwidth-delay product, for which gRPC would
  // send a ping with each message. Agents send little.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
}

}  // namespace

RpcServer::RpcServer() = default;

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const std::string& listen, const std::string& address_file,
    const ConnectionLimits& limits,
    const std::shared_ptr<grpc::ServerCredentials>& credentials,
    std::shared_ptr<ClientCertificates> clients,
    absl::Span<const std::unique_ptr<grpc::Service>> services,
    absl::Span<const std::unique_ptr<StreamService>> streams,
    const CallBounds& bounds) {
  std::unique_ptr<RpcServer> server(new RpcServer);
  server->clients_ = std::move(clients);
  server->credentials_ = credentials;
  ASSIGN_OR_RETURN(server->listener_, Listener::Open(listen, limits));
  ConnectionTable* const connections = &server->listener_->connections();
  server->clients_->SetLimit(ClientCertificates::Port::kGrpc,
                             connections->limits().max);
  server->observer_ = std::make_unique<CallObserver>(connections);
  if (bounds.has_reflection)
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor =
      builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::
              FROM_FD,
          credentials);
  SetArguments(&builder);
  SetBounds(bounds, &builder);
  for (const auto& service : services) builder.RegisterService(service.get());
  for (const auto& stream : streams) {
    builder.RegisterService(&stream->service());
  }
  for (size_t i = 0; i < CountLoops(); ++i) {
    server->loops_.push_back(
        std::make_unique<EventLoop>(builder.AddCompletionQueue(), connections));
  }
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    return absl::InternalError("cannot start the gRPC server");
  }
  for (const auto& stream : streams) {
    for (const auto& loop : server->loops_) stream->AcceptOn(loop.get());
  }
  server->listener_->Start(
      [acceptor, clients = server->clients_](int listening_fd, int fd,
                                             const Peer& peer) {
        const AcceptScope scope(clients, peer);
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
            connection;
        connection.listener_fd = listening_fd;
        connection.fd = fd;
        acceptor->HandleNewConnection(&connection);
      },
      Listener::Probes());
  server->address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":",
                                  server->listener_->port());
  if (!address_file.empty()) {
    RETURN_IF_ERROR(WriteFile(address_file, server->address_ + "\n"));
  }
  LogInfo("listening on ", server->address_, " for up to ",
          connections->limits().max, " connections");
  return server;
}

RpcServer::~RpcServer() {
  if (listener_ == nullptr) return;
  listener_->Stop();
  if (server_ != nullptr) {
    server_->Shutdown(RpcDeadline(kShutdownTime));
  }
}

void RpcServer::CloseRefused() {
  for (const Peer& peer : clients_->FindRefused()) {
    listener_->connections().Close(peer);
  }
}

ConnectionCounts RpcServer::CountConnections() const {
  return listener_->Count();
}

CallTable::Counts RpcServer::CountCalls() const {
  return CallTable::OfProcess().counts();
}

uint64_t RpcServer::failed_probes() const {
  return static_cast<uint64_t>(listener_->failed_probes());
}

}  // namespace fleetperf
