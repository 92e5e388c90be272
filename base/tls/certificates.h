// Creates the certificates for fleetperf's mutual TLS. certificate_info.h
// describes their contents.

#ifndef FLEETPERF_BASE_TLS_CERTIFICATES_H_
#define FLEETPERF_BASE_TLS_CERTIFICATES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/tls/certificate_info.h"

namespace fleetperf {

// Texts in PEM format.
struct KeyPair {
  std::string certificate;
  std::string key;
};

// Creates a certificate authority with a new key.
absl::StatusOr<KeyPair> MakeAuthority(const std::string& name,
                                      absl::Time not_after);

// Returns InvalidArgument, with the rule, if no certificate can have this name:
// a host name or an IP address.
absl::Status CheckCertificateName(const std::string& name);

struct CertificateRequest {
  Role role = Role::kReader;
  std::vector<std::string> names;  // at least one; the first is the subject
  absl::Time not_after;
};

// Creates a certificate with a new key, signed by `authority`. Those of
// aggregators and of enrolment can be used by a server only, and all others by
// a client only.
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
// ignored. Returns InvalidArgument if it is not signed with its key, or if the
// key is weak (CertificateInfo).
absl::StatusOr<std::string> SignRequest(const KeyPair& authority,
                                        const std::string& signing_request,
                                        const CertificateRequest& request);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TLS_CERTIFICATES_H_
