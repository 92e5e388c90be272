// A connection to an aggregator.

#ifndef FLEETPERF_CLI_CONNECTION_H_
#define FLEETPERF_CLI_CONNECTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/rpc/rpc_error.h"
#include "cli/connection_flags.h"

namespace grpc {
class Channel;
class Status;
}  // namespace grpc

namespace fleetperf {
class TlsIdentity;
}  // namespace fleetperf

namespace fleetperf::cli {

// Marks the error as that of something named that does not exist or has no
// samples, for which the exit status is 2.
absl::Status MissingError(absl::Status status);
bool IsMissing(const absl::Status& status);

// The deadline of calls that the aggregator answers from memory.
inline constexpr absl::Duration kCallDeadline = absl::Seconds(15);

// A channel to an aggregator, and its address for messages.
class Connection {
 public:
  // Returns a connection to each aggregator that the flags name. Missing
  // settings are read from the file named by --config or FLEETPERF_CONFIG, or
  // else from ~/.config/fleetperf/config.yaml.
  static absl::StatusOr<std::vector<Connection>> MakeAll(
      const ConnectionFlags& flags);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const std::string& address() const { return address_; }

  // Blocks until the aggregator is reached, for at most 3 s. Returns the reason
  // if it is not.
  absl::Status Connect() const;

  // Returns a new channel to the same aggregator, because a channel does not
  // reconnect. Looks for a renewed certificate.
  Connection Again() const;

  // Returns a call's status with a message that suggests the remedy. NotFound
  // is a MissingError.
  absl::Status Explain(const grpc::Status& status,
                       RpcStage stage = RpcStage::kConnecting) const;

 private:
  Connection(const std::string& address, std::shared_ptr<TlsIdentity> identity);

  absl::Status ReasonOfFailure() const;

  std::string address_;
  std::shared_ptr<TlsIdentity> identity_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_CONNECTION_H_
