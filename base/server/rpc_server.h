// The RPC server, configured for fleetperf's clients. Connections, call threads
// and gRPC's memory are bounded.

#ifndef FLEETPERF_BASE_SERVER_RPC_SERVER_H_
#define FLEETPERF_BASE_SERVER_RPC_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/server/call_table.h"
#include "base/server/client_certificates.h"
#include "base/server/connection_table.h"
#include "base/server/stream_service.h"

namespace grpc {
class Server;
class ServerCredentials;
class Service;
}  // namespace grpc

namespace fleetperf {

class CallObserver;
class EventLoop;
class Listener;

// What the calls of a server may use. The defaults are those of the aggregator.
struct CallBounds {
  // The number of calls of the synchronous API, each of which has a thread.
  // Queries wait on their thread until they are among the eight that run
  // (caller_quota.h), which also says how many a caller may have.
  int threads = 256;
  // Of requests. Payloads of batches and dictionaries have at most 4 MiB.
  int max_message_bytes = 8 << 20;
  // Of gRPC's connections and calls, not including TLS. 0: half of the
  // process's memory.
  uint64_t memory = 0;
  // After this time, a connection ends; calls in progress have kHandshakeTime
  // to end before.
  absl::Duration connection_age = absl::InfiniteDuration();
  bool has_reflection = true;
};

// Thread-safe, except for destruction.
class RpcServer {
 public:
  // Listens at "host:port". Port 0 selects any free port. If `address_file` is
  // not empty, writes the address to this file before logging it. `clients`
  // decides which clients may connect. The services must outlive the server.
  // Returns Unavailable if the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const std::string& listen, const std::string& address_file,
      const ConnectionLimits& limits,
      const std::shared_ptr<grpc::ServerCredentials>& credentials,
      std::shared_ptr<ClientCertificates> clients,
      absl::Span<const std::unique_ptr<grpc::Service>> services,
      absl::Span<const std::unique_ptr<StreamService>> streams,
      const CallBounds& bounds = {});
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

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_RPC_SERVER_H_
