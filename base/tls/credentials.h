// Loads gRPC credentials from PEM files and identifies the peer of a call.

#ifndef FLEETPERF_BASE_TLS_CREDENTIALS_H_
#define FLEETPERF_BASE_TLS_CREDENTIALS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/config/config.h"
#include "base/tls/certificate_info.h"
#include "base/tls/tls_files.h"

namespace grpc {
class AuthContext;
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace fleetperf {

// Reads the files in the section "tls". All three are required. If systemd
// passes a credential with the key's file name, that is the key.
TlsFiles ReadTlsFiles(ConfigSection tls);

// The contents of the files.
struct TlsTexts {
  std::string authority;
  std::string certificate;
  std::string key;

  friend bool operator==(const TlsTexts&, const TlsTexts&) = default;
};

// Error messages name the file. Returns PermissionDenied if other users may
// access the key.
absl::StatusOr<TlsTexts> ReadTlsTexts(const TlsFiles& files);

// Checks that the key fits the certificate, that certificate and authority are
// valid at `now` and have no weak keys, and that the certificate has the role,
// if one is given.
// Returns the certificate's contents. Error messages name the file.
absl::StatusOr<CertificateInfo> CheckTlsTexts(const TlsTexts& texts,
                                              const TlsFiles& files,
                                              std::optional<Role> role,
                                              absl::Time now);

// All kinds require the peer to present a certificate of the same authority.
std::shared_ptr<grpc::ChannelCredentials> ClientCredentials(TlsTexts texts);
// Read and check the files. The credentials do not change with them; see
// tls_identity.h.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(
    const TlsFiles& files);
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(
    const TlsFiles& files);

struct PeerIdentity {
  std::vector<std::string> names;  // DNS names of the certificate
  std::optional<Role> role;        // nullopt: no fleetperf role
  // The end of the certificate's validity, if it was looked up; see
  // CertificateExpiry.
  std::optional<absl::Time> not_after = std::nullopt;

  bool HasName(absl::string_view name) const;
  // Returns a hash of the role and the names, whatever their case and order.
  // Limits apply to it: a renewed certificate has that of its predecessor.
  std::string Key() const;
};

PeerIdentity IdentityOf(const grpc::AuthContext& context);
// Returns the end of the validity of the peer's certificate; nullopt if it
// cannot be read.
std::optional<absl::Time> CertificateExpiry(const grpc::AuthContext& context);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TLS_CREDENTIALS_H_
