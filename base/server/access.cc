#include "base/server/access.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/logging.h"
#include "base/server/peer.h"

namespace fleetperf {
namespace {

std::atomic<uint64_t> denials = 0;

// Returns the common name in the caller's certificate.
std::string SubjectOf(const grpc::ServerContextBase& context) {
  const auto subjects =
      context.auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return subjects.empty() ? ""
                          : std::string(subjects[0].data(), subjects[0].size());
}

}  // namespace

absl::StatusOr<PeerIdentity> CheckAccess(const grpc::ServerContextBase& context,
                                         std::initializer_list<Role> roles) {
  PeerIdentity peer = IdentityOf(*context.auth_context());
  if (peer.role.has_value() &&
      std::find(roles.begin(), roles.end(), *peer.role) != roles.end()) {
    return peer;
  }
  const auto append_name = [](std::string* out, Role role) {
    absl::StrAppend(out, RoleName(role));
  };
  const absl::Status denial = absl::PermissionDeniedError(absl::StrCat(
      "this call requires the role ", absl::StrJoin(roles, " or ", append_name),
      "; the client's certificate has role ",
      peer.role.has_value() ? RoleName(*peer.role) : "none"));
  ReportDenial(context, denial);
  return denial;
}

std::string CallerOf(const grpc::ServerContextBase& context) {
  return IdentityOf(*context.auth_context()).Key();
}

absl::StatusOr<CertificateInfo> CertificateOf(
    const grpc::ServerContextBase& context) {
  const auto pem = context.auth_context()->FindPropertyValues(
      GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (pem.empty()) return absl::InternalError("the call has no certificate");
  return ReadCertificate(std::string(pem[0].data(), pem[0].size()));
}

void ReportDenial(const grpc::ServerContextBase& context,
                  const absl::Status& denial) {
  static LogOncePerCause* const log = new LogOncePerCause;
  ++denials;
  const std::string subject = SubjectOf(context);
  const auto peer = ParsePeer(context.peer());
  const std::string address =
      peer.has_value() ? AddressText(peer->address) : context.peer();
  log->Warn(
      absl::StrCat(subject, " ", address),
      absl::StrCat("denied a call from ",
                   peer.has_value() ? PeerText(*peer) : address,
                   " with certificate \"", subject, "\": ", denial.message()));
}

uint64_t CountDenials() { return denials; }

}  // namespace fleetperf
