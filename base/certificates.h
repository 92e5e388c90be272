// Creates the certificates for fleetperf's mutual TLS and reads their
// identities.
//
// A certificate names its holder in DNS (or IP) subject alternative names and
// its role in a URI one: urn:fleetperf:agent, :aggregator, :reader, :operator.

#ifndef FLEETPERF_BASE_CERTIFICATES_H_
#define FLEETPERF_BASE_CERTIFICATES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf {

enum class Role {
  kAgent,       // streams samples of the machines in its names
  kAggregator,  // serves; its names are the addresses to reach it by
  kReader,      // a user or program that queries
  kOperator,    // a reader that may also change things
};

// "agent"
absl::string_view RoleName(Role role);
absl::StatusOr<Role> ParseRole(absl::string_view name);
// "urn:fleetperf:agent"
std::string RoleUri(Role role);

// Texts in PEM format.
struct KeyPair {
  std::string certificate;
  std::string key;
};

// Creates a certificate authority with a new key.
absl::StatusOr<KeyPair> MakeAuthority(const std::string& name,
                                      absl::Time not_after);

struct CertificateRequest {
  Role role = Role::kReader;
  std::vector<std::string> names;  // at least one; the first is the subject
  absl::Time not_after;
};

// Creates a certificate with a new key, signed by `authority`. Only an
// aggregator's certificate can be used by a server, only the others by a
// client.
absl::StatusOr<KeyPair> IssueCertificate(const KeyPair& authority,
                                         const CertificateRequest& request);

// Returns the expiry time of a certificate (PEM text).
absl::StatusOr<absl::Time> ExpiryOf(const std::string& certificate);

// Returns the DNS names of a certificate (PEM text).
absl::StatusOr<std::vector<std::string>> NamesOf(
    const std::string& certificate);

// Returns OK if `key` is the private key of `certificate` (PEM texts). Error
// messages call the key `key_name`.
absl::Status CheckKeyFits(const std::string& certificate,
                          const std::string& key, absl::string_view key_name);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CERTIFICATES_H_
