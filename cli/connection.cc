#include "cli/connection.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/address.h"
#include "base/os/files.h"
#include "base/os/user_directory.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_deadline.h"
#include "base/status_macros.h"
#include "base/tls/tls_identity.h"
#include "cli/config.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(3);
constexpr char kConfigVariable[] = "FLEETPERF_CONFIG";
// The type URL of the payload of MissingError.
constexpr char kMissing[] = "fleetperf/missing";

std::string DefaultConfigPath() {
  const std::string directory = UserConfigDirectory();
  return directory.empty() ? "" : ResolvePath(directory, "config.yaml");
}

bool IsComplete(const ConnectionFlags& flags) {
  return !flags.aggregators.empty() && !flags.tls.authority.empty() &&
         !flags.tls.certificate.empty() && !flags.tls.key.empty();
}

// Returns the path of the configuration file; empty if there is none.
absl::StatusOr<std::string> ConfigPath(const ConnectionFlags& flags) {
  if (!flags.config.empty()) return flags.config;
  const char* variable = std::getenv(kConfigVariable);
  if (variable != nullptr && *variable != '\0') {
    if (!FileExists(variable)) {
      return absl::NotFoundError(absl::StrCat(
          kConfigVariable, " names ", variable, ", which does not exist"));
    }
    return std::string(variable);
  }
  const std::string path = DefaultConfigPath();
  if (!FileExists(path)) return std::string();
  RETURN_IF_ERROR(CheckProtected(UserConfigDirectory()));
  RETURN_IF_ERROR(CheckProtected(path));
  return path;
}

void Override(const std::string& flag, std::string* setting) {
  if (!flag.empty()) *setting = flag;
}

}  // namespace

absl::StatusOr<std::vector<Connection>> Connection::MakeAll(
    const ConnectionFlags& flags) {
  Config settings{.aggregators = flags.aggregators, .tls = flags.tls};
  if (!IsComplete(flags)) {
    ASSIGN_OR_RETURN(const std::string path, ConfigPath(flags));
    if (path.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("no aggregator given; use --aggregator, --authority, "
                       "--certificate and --key, or write these settings to ",
                       kUserConfigDirectory, "/config.yaml (or the file that ",
                       kConfigVariable, " names)"));
    }
    ASSIGN_OR_RETURN(settings, LoadConfig(path));
    if (!flags.aggregators.empty()) settings.aggregators = flags.aggregators;
    Override(flags.tls.authority, &settings.tls.authority);
    Override(flags.tls.certificate, &settings.tls.certificate);
    Override(flags.tls.key, &settings.tls.key);
  }
  for (const std::string& address : settings.aggregators) {
    const absl::Status valid =
        CheckAddress(address, /*least_port=*/1, "localhost:7443");
    if (!valid.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the aggregator's address ", valid.message()));
    }
  }
  // The aggregator says which role a command needs.
  ASSIGN_OR_RETURN(const std::shared_ptr<TlsIdentity> identity,
                   TlsIdentity::Load(settings.tls, /*role=*/std::nullopt));
  std::vector<Connection> connections;
  std::set<std::string> addresses;
  for (const std::string& address : settings.aggregators) {
    if (!addresses.insert(address).second) continue;  // given twice
    connections.push_back(Connection(address, identity));
  }
  return connections;
}

Connection::Connection(const std::string& address,
                       std::shared_ptr<TlsIdentity> identity)
    : address_(address),
      identity_(std::move(identity)),
      channel_(MakeChannel(address_, identity_->ForClient())) {}

absl::Status Connection::Connect() const {
  const gpr_timespec deadline = RpcDeadline(kConnectTimeout);
  for (;;) {
    const grpc_connectivity_state state = channel_->GetState(true);
    if (state == GRPC_CHANNEL_READY) return absl::OkStatus();
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) return ReasonOfFailure();
    if (!channel_->WaitForStateChange(state, deadline)) {
      return Explain(
          {grpc::StatusCode::DEADLINE_EXCEEDED, "deadline exceeded"});
    }
  }
}

// A call fails with the reason for which the channel has failed.
absl::Status Connection::ReasonOfFailure() const {
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kConnectTimeout));
  grpc::health::v1::HealthCheckResponse response;
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  return Explain(stub->Check(&context, {}, &response));
}

Connection Connection::Again() const {
  Connection again = *this;
  // An unusable new certificate leaves the old one in use; if that has expired,
  // the connection's error says so.
  identity_->Refresh().IgnoreError();
  again.channel_ = MakeChannel(address_, identity_->ForClient());
  return again;
}

absl::Status Connection::Explain(const grpc::Status& status,
                                 RpcStage stage) const {
  absl::Status explained = StatusFromRpc(status, address_, stage);
  return absl::IsNotFound(explained) ? MissingError(std::move(explained))
                                     : explained;
}

absl::Status MissingError(absl::Status status) {
  status.SetPayload(kMissing, absl::Cord());
  return status;
}

bool IsMissing(const absl::Status& status) {
  return status.GetPayload(kMissing).has_value();
}

}  // namespace fleetperf::cli
