// Loads gRPC credentials from PEM files and identifies the peer of a call.

#ifndef FLEETPERF_BASE_CREDENTIALS_H_
#define FLEETPERF_BASE_CREDENTIALS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/certificates.h"
#include "base/config.h"

namespace grpc {
class AuthContext;
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace fleetperf {

// Paths of PEM files.
struct TlsFiles {
  std::string authority;
  std::string certificate;
  std::string key;
};

// Reads the section "tls". All three files are required.
TlsFiles ReadTlsFiles(ConfigSection root);

// Both kinds require the peer to present a certificate of the same authority.
// Error messages name the file that cannot be read or is invalid.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(
    const TlsFiles& files);
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(
    const TlsFiles& files);

struct PeerIdentity {
  std::vector<std::string> names;  // DNS names of the certificate
  std::optional<Role> role;        // nullopt: no fleetperf role

  bool HasName(absl::string_view name) const;
};

PeerIdentity IdentityOf(const grpc::AuthContext& context);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CREDENTIALS_H_
