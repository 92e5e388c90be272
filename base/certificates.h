// Makes the certificates that fleetperf's mutual TLS uses, and says who one
// speaks for.
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
  kAgent,       // streams samples of the machines its names say
  kAggregator,  // serves; its names are the addresses it is reached by
  kReader,      // a person or a program that asks
  kOperator,    // a reader that may also change things
};

// "agent"
absl::string_view RoleName(Role role);
absl::StatusOr<Role> ParseRole(absl::string_view name);
// "urn:fleetperf:agent"
std::string RoleUri(Role role);

// PEM texts.
struct KeyPair {
  std::string certificate;
  std::string key;
};

// A certificate authority with a new key.
absl::StatusOr<KeyPair> MakeAuthority(const std::string& name,
                                      absl::Time not_after);

struct CertificateRequest {
  Role role = Role::kReader;
  std::vector<std::string> names;  // at least one; the first is the subject
  absl::Time not_after;
};

// A certificate with a new key, signed by `authority`. Only an aggregator's can
// be used by a server, only the others' by a client.
absl::StatusOr<KeyPair> IssueCertificate(const KeyPair& authority,
                                         const CertificateRequest& request);

// When a certificate (PEM text) expires.
absl::StatusOr<absl::Time> ExpiryOf(const std::string& certificate);

// The DNS names of a certificate (PEM text).
absl::StatusOr<std::vector<std::string>> NamesOf(
    const std::string& certificate);

// Whether `key` is the private key of `certificate` (PEM texts). The error says
// what is wrong and names the key by `key_name`.
absl::Status CheckKeyFits(const std::string& certificate,
                          const std::string& key, absl::string_view key_name);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CERTIFICATES_H_
