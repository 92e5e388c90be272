// Finds and connects to the aggregator.

#ifndef FLEETPERF_AGGREGATOR_CLI_CONNECTION_H_
#define FLEETPERF_AGGREGATOR_CLI_CONNECTION_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/credentials.h"
#include "base/rpc_error.h"

namespace grpc {
class Channel;
class Status;
}  // namespace grpc

namespace fleetperf::cli {

// Flags as typed; empty if not given.
struct ConnectionFlags {
  std::string config;
  std::string aggregator;
  TlsFiles tls;
};

// The deadline of calls that the aggregator answers from memory.
inline constexpr absl::Duration kCallDeadline = absl::Seconds(15);

// A channel to the aggregator, and its address for messages.
class Connection {
 public:
  // Connects with the flags. Missing settings are read from the file named by
  // --config or FLEETPERF_CONFIG, or else from ~/.config/fleetperf/config.yaml.
  static absl::StatusOr<Connection> Open(const ConnectionFlags& flags);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Returns a call's status with a message that suggests the remedy.
  absl::Status Explain(const grpc::Status& status,
                       RpcStage stage = RpcStage::kConnecting) const;

 private:
  Connection(std::string address, std::shared_ptr<grpc::Channel> channel)
      : address_(std::move(address)), channel_(std::move(channel)) {}

  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_CONNECTION_H_
