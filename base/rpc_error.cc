#include "base/rpc_error.h"

#include <grpcpp/support/status.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace fleetperf {
namespace {

// Substrings of gRPC's messages about failed connections, and their
// explanations.
constexpr struct {
  absl::string_view sign;
  absl::string_view explanation;
} kConnectFailures[] = {
    {"certificate_verify_failed",
     "its certificate is not signed by the authority in tls.authority, or has "
     "expired"},
    {"no match found for server name",
     "its certificate is for another host name; it must contain the address "
     "that is used to reach it"},
    {"ssl handshake failed",
     "the TLS handshake failed; both sides need certificates of the same "
     "authority (fleetperf pki)"},
    {"ssl_error_ssl",
     "the TLS handshake failed; both sides need certificates of the same "
     "authority (fleetperf pki)"},
    {"connection refused",
     "nothing listens there; is fleetperf-aggregator running?"},
    {"connection reset by peer",
     "it closed the connection; is this client's certificate signed by its "
     "authority?"},
    {"socket closed",
     "it closed the connection; is this client's certificate signed by its "
     "authority?"},
    {"dns resolution failed", "the host name is unknown"},
    {"domain name not found", "the host name is unknown"},
    {"deadline exceeded", "it does not answer"},
    {"failed to connect before the deadline", "it does not answer"},
};

// gRPC's message when a server shuts down during a call.
constexpr absl::string_view kShutdownSign = "cancelling all calls";

}  // namespace

absl::Status StatusFromRpc(const grpc::Status& status,
                           absl::string_view address, RpcStage stage) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  const std::string lower = absl::AsciiStrToLower(status.error_message());
  if (absl::StrContains(lower, kShutdownSign)) {
    return absl::UnavailableError(
        absl::StrCat("the aggregator at ", address, " was stopped"));
  }
  if (code != absl::StatusCode::kUnavailable &&
      code != absl::StatusCode::kDeadlineExceeded) {
    return absl::Status(code, status.error_message());
  }
  if (stage == RpcStage::kAnswering) {
    return absl::Status(
        code, absl::StrCat("lost the connection to the aggregator at ", address,
                           " (", status.error_message(), ")"));
  }
  for (const auto& failure : kConnectFailures) {
    if (absl::StrContains(lower, failure.sign)) {
      return absl::Status(
          code, absl::StrCat("cannot reach the aggregator at ", address, ": ",
                             failure.explanation));
    }
  }
  return absl::Status(code, absl::StrCat("the aggregator at ", address, ": ",
                                         status.error_message()));
}

grpc::Status RpcFromStatus(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message()));
}

}  // namespace fleetperf
