#include "cli/connection.h"

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
#include "base/status_macros.h"
#include "base/tls/tls_identity.h"
#include "cli/config.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {
namespace {

constexpr char kConfigVariable[] = "FLEETPERF_CONFIG";
// The type URL of the payload of MissingError.
constexpr char kMissing[] = "fleetperf/missing";

std::string DefaultConfigPath() {
  const std::string directory = UserConfigDirectory();
  return directory.empty() ? "" : ResolvePath(directory, "config.yaml");
}

bool IsComplete(const ConnectionFlags& flags) {
  return !flags.aggregator.empty() && !flags.tls.authority.empty() &&
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

struct Connection::Reports {
  std::vector<v1::Missing> missing;
  std::vector<v1::SilentMachine> silent;
  std::set<std::string> silent_names;
};

absl::StatusOr<Connection> Connection::Open(const ConnectionFlags& flags) {
  Config settings{.aggregator = flags.aggregator, .tls = flags.tls};
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
    Override(flags.aggregator, &settings.aggregator);
    Override(flags.tls.authority, &settings.tls.authority);
    Override(flags.tls.certificate, &settings.tls.certificate);
    Override(flags.tls.key, &settings.tls.key);
  }
  const absl::Status valid =
      CheckAddress(settings.aggregator, /*least_port=*/1, "localhost:7443");
  if (!valid.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the aggregator's address ", valid.message()));
  }
  // The aggregator says which role a command needs.
  ASSIGN_OR_RETURN(auto identity,
                   TlsIdentity::Load(settings.tls, /*role=*/std::nullopt));
  return Connection(settings.aggregator, std::move(identity));
}

Connection::Connection(const std::string& address,
                       std::shared_ptr<TlsIdentity> identity)
    : address_(address),
      identity_(std::move(identity)),
      channel_(MakeChannel(address_, identity_->ForClient())),
      reports_(std::make_shared<Reports>()) {}

Connection Connection::Again() const {
  Connection again = *this;
  // An unusable new certificate leaves the old one in use; if that has expired,
  // the connection's error says so.
  identity_->Refresh().IgnoreError();
  again.channel_ = MakeChannel(address_, identity_->ForClient());
  return again;
}

const std::vector<v1::Missing>& Connection::missing() const {
  return reports_->missing;
}

const std::vector<v1::SilentMachine>& Connection::silent() const {
  return reports_->silent;
}

void Connection::AddMissing(const v1::Missing& missing) const {
  for (const v1::Missing& known : reports_->missing) {
    if (known.path() == missing.path()) return;  // by another query
  }
  reports_->missing.push_back(missing);
}

void Connection::AddSilent(const v1::SilentMachine& machine) const {
  if (!reports_->silent_names.insert(machine.machine()).second) return;
  reports_->silent.push_back(machine);
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
