#include "base/rpc/rpc_error.h"

#include <grpcpp/support/status.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "base/text/excerpt.h"
#include "base/tls/certificates.h"

namespace fleetperf {
namespace {

// gRPC's message about an aggregator whose certificate lacks the name by which
// it was reached has this name between these two.
constexpr absl::string_view kBeforeName = "Peer name ";
constexpr absl::string_view kAfterName = " is not in peer certificate";

// The explanation of a connection that the aggregator closes immediately. It
// refuses a certificate only after the client's part of the handshake, so the
// client may notice this as it writes.
constexpr absl::string_view kClosed =
    "it closed the connection; is this client's certificate signed by its "
    "authority, and neither expired nor revoked?";

// Substrings of gRPC's messages about failed connections in lower case, their
// explanations, in which $0 is the name that was used and $1 the advice for it,
// and whether the certificates are the cause.
struct ConnectFailure {
  absl::string_view sign;
  absl::string_view explanation;
  bool is_of_certificates = false;
};
constexpr ConnectFailure kConnectFailures[] = {
    {kAfterName,
     "its certificate is not for \"$0\"; use a name that the certificate has "
     "(openssl x509 -noout -ext subjectAltName -in aggregator.pem lists them)"
     "$1",
     true},
    {"certificate_verify_failed",
     "its certificate is not signed by the authority in tls.authority, or has "
     "expired",
     true},
    {"ssl handshake failed",
     "the TLS handshake failed; both sides need certificates of the same "
     "authority (fleetperf pki)",
     true},
    {"ssl_error_ssl",
     "the TLS handshake failed; both sides need certificates of the same "
     "authority (fleetperf pki)",
     true},
    {"connection refused",
     "nothing listens there; is fleetperf-aggregator running?"},
    {"connection reset by peer", kClosed, true},
    {"broken pipe", kClosed, true},
    {"socket closed", kClosed, true},
    {"dns resolution failed", "the host name is unknown"},
    {"domain name not found", "the host name is unknown"},
    {"deadline exceeded", "it does not answer"},
    {"failed to connect before the deadline", "it does not answer"},
};

// gRPC's message when a server shuts down during a call.
constexpr absl::string_view kShutdownSign = "cancelling all calls";

// Returns the explanation of a failed connection; nullptr if it is unknown.
const ConnectFailure* FindFailure(const std::string& lower_message) {
  for (const ConnectFailure& failure : kConnectFailures) {
    if (absl::StrContains(lower_message, failure.sign)) return &failure;
  }
  return nullptr;
}

// Returns the name that the aggregator's certificate lacks; "" for other
// messages.
absl::string_view NameNotInCertificate(absl::string_view message) {
  const size_t end = message.find(kAfterName);
  if (end == message.npos) return "";
  message = message.substr(0, end);
  const size_t before = message.rfind(kBeforeName);
  if (before == message.npos) return "";
  return message.substr(before + kBeforeName.size());
}

// Returns ", or issue it again for ...", unless no certificate can have the
// name.
std::string AdviseName(const std::string& name) {
  if (!CheckCertificateName(name).ok()) return "";
  return absl::StrCat(
      ", or issue it again for this name, too (fleetperf pki issue aggregator "
      "NAME... ",
      name, " --force)");
}

}  // namespace

bool IsRefusal(const grpc::Status& status, RpcStage stage) {
  if (status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
      status.error_code() == grpc::StatusCode::UNAUTHENTICATED) {
    return true;
  }
  if (stage == RpcStage::kAnswering ||
      status.error_code() != grpc::StatusCode::UNAVAILABLE) {
    return false;
  }
  const ConnectFailure* const failure =
      FindFailure(absl::AsciiStrToLower(status.error_message()));
  return failure != nullptr && failure->is_of_certificates;
}

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
  if (const ConnectFailure* const failure = FindFailure(lower)) {
    const std::string name(NameNotInCertificate(status.error_message()));
    return absl::Status(
        code, absl::StrCat("cannot reach the aggregator at ", address, ": ",
                           absl::Substitute(failure->explanation, name,
                                            AdviseName(name))));
  }
  return absl::Status(code, absl::StrCat("the aggregator at ", address, ": ",
                                         status.error_message()));
}

grpc::Status RpcFromStatus(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      Excerpt(status.message(), kMaxErrorText));
}

}  // namespace fleetperf
