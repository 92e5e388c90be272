// The RPC server, configured for fleetperf's clients. Connections, call threads
// and gRPC's memory are bounded.

#ifndef FLEETPERF_AGGREGATOR_RPC_RPC_SERVER_H_
#define FLEETPERF_AGGREGATOR_RPC_RPC_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator/rpc/call_table.h"
#include "aggregator/rpc/client_certificates.h"
#include "aggregator/rpc/connection_table.h"
#include "aggregator/rpc/stream_service.h"

namespace grpc {
class Server;
class ServerCredentials;
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

class CallObserver;
class EventLoop;
class Listener;

// Thread-safe, except for destruction.
class RpcServer {
 public:
  // Listens at "host:port". Port 0 selects any free port. If `address_file` is
  // not empty, writes the address to this file before logging it. `clients`
  // decides which clients may connect. The services must outlive the server,
  // which also serves gRPC's reflection. Returns Unavailable if the address
  // cannot be bound.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const std::string& listen, const std::string& address_file,
      const ConnectionLimits& limits,
      const std::shared_ptr<grpc::ServerCredentials>& credentials,
      std::shared_ptr<ClientCertificates> clients,
      absl::Span<const std::unique_ptr<grpc::Service>> services,
      absl::Span<const std::unique_ptr<StreamService>> streams);
  // Ends open calls, after up to one second.
  ~RpcServer();

  // "host:port", with the port that was chosen.
  const std::string& address() const { return address_; }

  // Closes the connections that `clients` refuses by now.
  void CloseRefused();

  ConnectionCounts CountConnections() const;
  // The calls of all servers of the process.
  CallTable::Counts CountCalls() const;
  const ClientCertificates& clients() const { return *clients_; }
  // The number of times that the server found itself not accepting connections.
  uint64_t failed_probes() const;

 private:
  RpcServer();

  std::shared_ptr<ClientCertificates> clients_;
  // gRPC uses them for each new connection, but does not own them.
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<Listener>
      listener_;  // before those below: the others use its connections
  std::unique_ptr<CallObserver> observer_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<EventLoop>> loops_;  // destroyed before server_
  std::string address_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_RPC_SERVER_H_
