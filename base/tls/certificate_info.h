// The contents of certificates for fleetperf's mutual TLS, and checks of them.
//
// A certificate names its holder in DNS (or IP) subject alternative names and
// its role in a URI one: urn:fleetperf:agent, :aggregator, :reader, :operator.

#ifndef FLEETPERF_BASE_TLS_CERTIFICATE_INFO_H_
#define FLEETPERF_BASE_TLS_CERTIFICATE_INFO_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

struct x509_st;

namespace fleetperf {

enum class Role {
  kAgent,       // streams samples of the machines in its names
  kAggregator,  // serves; its names are the addresses to reach it by
  kReader,      // a user or program that queries
  kOperator,    // a reader that may also change things
  // Exchanges enrolment tokens. Only `fleetperf pki serve` has such a
  // certificate, which it makes for itself; no command issues one.
  kEnrolment,
};

// "agent"
absl::string_view RoleName(Role role);
// Returns a role that certificates can be issued for.
absl::StatusOr<Role> ParseRole(absl::string_view name);
// "urn:fleetperf:agent"
std::string RoleUri(Role role);
// Returns the role in a URI of a certificate; nullopt for other URIs.
std::optional<Role> RoleOfUri(absl::string_view uri);

// The contents of a certificate.
struct CertificateInfo {
  std::string subject;                 // the common name
  std::vector<std::string> names;      // DNS names
  std::vector<std::string> addresses;  // IP addresses
  std::optional<Role> role;            // nullopt: no fleetperf role
  absl::Time not_before;
  absl::Time not_after;
  // SHA-256 of the certificate in DER, in lower-case hexadecimal digits.
  std::string fingerprint;
  bool is_authority = false;
  // Why nobody may rely on the key, with the next step; "" for a strong key:
  // RSA of at least 2,048 bits, or P-256.
  std::string weakness;
};

// Returns an error that names the file if a certificate of the PEM text has a
// weak key.
absl::Status CheckKeyStrength(const std::string& pem, absl::string_view file);

// Reads the first certificate of a PEM text.
absl::StatusOr<CertificateInfo> ReadCertificate(const std::string& pem);
// Reads all certificates of a PEM text, which has at least one.
absl::StatusOr<std::vector<CertificateInfo>> ReadCertificates(
    const std::string& pem);
// `certificate` is OpenSSL's X509.
CertificateInfo DescribeCertificate(x509_st* certificate);

// Checks that the first certificate of `chain` (PEM text) belongs to a server
// and was issued by the authority with this fingerprint, which the chain must
// contain, and that no key of the two is weak.
absl::Status CheckServerChain(const std::string& chain,
                              const std::string& authority);

// Checks the same, and that the server is `fleetperf pki serve`: an aggregator
// must get no tokens, which could make it an agent of any name.
absl::Status CheckEnrolmentServer(const std::string& chain,
                                  const std::string& authority);

// Returns OK if `key` is the private key of `certificate` (PEM texts). Error
// messages call the key `key_name`.
absl::Status CheckKeyFits(const std::string& certificate,
                          const std::string& key, absl::string_view key_name);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TLS_CERTIFICATE_INFO_H_
