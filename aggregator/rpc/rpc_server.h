// A server of RPCs as fleetperf's clients expect it. Its connections, the
// threads of calls and gRPC's memory are bounded.

#ifndef FLEETPERF_AGGREGATOR_RPC_RPC_SERVER_H_
#define FLEETPERF_AGGREGATOR_RPC_RPC_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator/rpc/connection_table.h"
#include "aggregator/rpc/stream_service.h"

namespace grpc {
class Server;
class ServerCredentials;
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

class EventLoop;
class Listener;

class RpcServer {
 public:
  // Listens at "host:port"; port 0: any that is free. If `address_file` is not
  // empty, the address is in it when it is logged. The services outlive this;
  // gRPC's reflection is served besides. Unavailable if the port cannot be had.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const std::string& listen, const std::string& address_file,
      const ConnectionLimits& limits,
      const std::shared_ptr<grpc::ServerCredentials>& credentials,
      absl::Span<const std::unique_ptr<grpc::Service>> services,
      absl::Span<const std::unique_ptr<StreamService>> streams);
  // Ends open calls.
  ~RpcServer();

  // With the port that was chosen.
  const std::string& address() const { return address_; }

  // Thread-safe.
  ConnectionCounts CountConnections() const;
  // How often it found that it accepts no connections.
  uint64_t failed_probes() const;

 private:
  RpcServer();

  std::unique_ptr<Listener> listener_;  // first: its connections are used
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<EventLoop>> loops_;  // end before the server
  std::string address_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_RPC_SERVER_H_
