// Access control by the role in the client's certificate.

#ifndef FLEETPERF_AGGREGATOR_RPC_ACCESS_H_
#define FLEETPERF_AGGREGATOR_RPC_ACCESS_H_

#include <initializer_list>
#include <string>

#include "absl/status/statusor.h"
#include "base/credentials.h"

namespace grpc {
class ServerContextBase;
}  // namespace grpc

namespace fleetperf::aggregator {

// Returns the caller's identity if its certificate has one of `roles`,
// otherwise PermissionDenied with the required roles. Thread-safe.
absl::StatusOr<PeerIdentity> CheckAccess(const grpc::ServerContextBase& context,
                                         std::initializer_list<Role> roles);

// Returns the role and the names of the client's certificate, which are the
// same after a renewal: "reader alice". The limits of a caller apply to it.
// Empty without a certificate. Thread-safe.
std::string CallerOf(const grpc::ServerContextBase& context);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_ACCESS_H_
