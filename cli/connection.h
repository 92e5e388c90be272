// Finds and connects to the aggregator.

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

// Of fleetperf/v1/query.pb.h.
namespace fleetperf::v1 {
class Missing;
class SilentMachine;
}  // namespace fleetperf::v1

namespace fleetperf::cli {

// Marks the error as that of something named that does not exist or has no
// samples, for which the exit status is 2.
absl::Status MissingError(absl::Status status);
bool IsMissing(const absl::Status& status);

// The deadline of calls that the aggregator answers from memory.
inline constexpr absl::Duration kCallDeadline = absl::Seconds(15);

// A channel to the aggregator, and its address for messages.
class Connection {
 public:
  // Connects with the flags. Missing settings are read from the file named by
  // --config or FLEETPERF_CONFIG, or else from ~/.config/fleetperf/config.yaml.
  static absl::StatusOr<Connection> Open(const ConnectionFlags& flags);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const std::string& address() const { return address_; }

  // Returns a new channel to the same aggregator, because a channel does not
  // reconnect. Looks for a renewed certificate. Shares the recorded paths and
  // machines.
  Connection Again() const;

  // Records a path of the command that has no samples. Reported after the
  // command, which goes on.
  void AddMissing(const v1::Missing& missing) const;
  const std::vector<v1::Missing>& missing() const;
  // Same for machines that stopped before the range of a query. They are not
  // missing.
  void AddSilent(const v1::SilentMachine& machine) const;
  const std::vector<v1::SilentMachine>& silent() const;

  // Returns a call's status with a message that suggests the remedy. NotFound
  // is a MissingError.
  absl::Status Explain(const grpc::Status& status,
                       RpcStage stage = RpcStage::kConnecting) const;

 private:
  struct Reports;

  Connection(const std::string& address, std::shared_ptr<TlsIdentity> identity);

  std::string address_;
  std::shared_ptr<TlsIdentity> identity_;
  std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<Reports> reports_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_CONNECTION_H_
