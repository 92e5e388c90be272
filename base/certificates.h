// Creates the certificates for fleetperf's mutual TLS and reads their
// identities.
//
// A certificate names its holder in DNS (or IP) subject alternative names and
// its role in a URI one: urn:fleetperf:agent, :aggregator, :reader, :operator.

#ifndef FLEETPERF_BASE_CERTIFICATES_H_
#define FLEETPERF_BASE_CERTIFICATES_H_

#include <optional>
#include <string>
#include <vector>

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

// A certificate signing request (PKCS #10) and its new key, in PEM format.
struct SigningRequest {
  std::string request;
  std::string key;
};
absl::StatusOr<SigningRequest> MakeSigningRequest(const std::string& name);

// Creates a certificate (PEM text) for the key of a signing request. Names and
// role are those of `request`; those in `signing_request` (PEM text) are
// ignored. Returns InvalidArgument if it is not signed with its key.
absl::StatusOr<std::string> SignRequest(const KeyPair& authority,
                                        const std::string& signing_request,
                                        const CertificateRequest& request);

// Checks that the first certificate of `chain` (PEM text) belongs to a server
// and was issued by the authority with this fingerprint, which the chain must
// contain.
absl::Status CheckServerChain(const std::string& chain,
                              const std::string& authority);

// The contents of a certificate.
struct CertificateInfo {
  std::string subject;             // the common name
  std::vector<std::string> names;  // DNS names
  std::optional<Role> role;        // nullopt: no fleetperf role
  absl::Time not_before;
  absl::Time not_after;
  // SHA-256 of the certificate in DER, in lower-case hexadecimal digits.
  std::string fingerprint;
  bool is_authority = false;
};

// Reads the first certificate of a PEM text.
absl::StatusOr<CertificateInfo> ReadCertificate(const std::string& pem);
// Reads all certificates of a PEM text, which has at least one.
absl::StatusOr<std::vector<CertificateInfo>> ReadCertificates(
    const std::string& pem);
// `certificate` is OpenSSL's X509.
CertificateInfo DescribeCertificate(x509_st* certificate);

// Returns the role in a URI of a certificate; nullopt for other URIs.
std::optional<Role> RoleOfUri(absl::string_view uri);

// Returns OK if `key` is the private key of `certificate` (PEM texts). Error
// messages call the key `key_name`.
absl::Status CheckKeyFits(const std::string& certificate,
                          const std::string& key, absl::string_view key_name);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CERTIFICATES_H_
