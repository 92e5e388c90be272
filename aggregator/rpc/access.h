// Who may call what: the role in the client's certificate decides.

#ifndef FLEETPERF_AGGREGATOR_RPC_ACCESS_H_
#define FLEETPERF_AGGREGATOR_RPC_ACCESS_H_

#include <initializer_list>

#include "absl/status/statusor.h"
#include "base/credentials.h"

namespace grpc {
class ServerContextBase;
}  // namespace grpc

namespace fleetperf::aggregator {

// The caller's identity if it has one of `roles`; otherwise PermissionDenied,
// with what is needed.
absl::StatusOr<PeerIdentity> CheckAccess(const grpc::ServerContextBase& context,
                                         std::initializer_list<Role> roles);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_ACCESS_H_
