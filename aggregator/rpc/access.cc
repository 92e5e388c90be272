#include "aggregator/rpc/access.h"

#include <grpcpp/server_context.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fleetperf::aggregator {

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
  return absl::PermissionDeniedError(absl::StrCat(
      "this call requires the role ", absl::StrJoin(roles, " or ", append_name),
      "; the client's certificate has role ",
      peer.role.has_value() ? RoleName(*peer.role) : "none"));
}

std::string CallerOf(const grpc::ServerContextBase& context) {
  const PeerIdentity peer = IdentityOf(*context.auth_context());
  return absl::StrCat(peer.role.has_value() ? RoleName(*peer.role) : "",
                      peer.names.empty() ? "" : " ",
                      absl::StrJoin(peer.names, " "));
}

}  // namespace fleetperf::aggregator
