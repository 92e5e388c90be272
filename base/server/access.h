// Access control by the role in the client's certificate.

#ifndef FLEETPERF_BASE_SERVER_ACCESS_H_
#define FLEETPERF_BASE_SERVER_ACCESS_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/tls/credentials.h"

namespace grpc {
class ServerContextBase;
}  // namespace grpc

namespace fleetperf {

// Returns the caller's identity if its certificate has one of `roles`,
// otherwise PermissionDenied with the required roles. Counts and logs denials.
// Thread-safe.
absl::StatusOr<PeerIdentity> CheckAccess(const grpc::ServerContextBase& context,
                                         std::initializer_list<Role> roles);

// Returns PeerIdentity::Key of the client's certificate. Thread-safe.
std::string CallerOf(const grpc::ServerContextBase& context);

// Returns the contents of the client's certificate. Thread-safe.
absl::StatusOr<CertificateInfo> CertificateOf(
    const grpc::ServerContextBase& context);

// Counts a call that was denied for another reason, and logs it with the peer's
// address and certificate. Repetitions are logged every five minutes.
// Thread-safe.
void ReportDenial(const grpc::ServerContextBase& context,
                  const absl::Status& denial);

// Returns the number of denials since the start. Thread-safe.
uint64_t CountDenials();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_ACCESS_H_
