// Lists of revoked certificates.
//
// A list is a text file with one certificate a line:
//
//   # fleetperf certificate list, version 1
//   FINGERPRINT EXPIRY ROLE NAME,NAME...
//
// FINGERPRINT is the SHA-256 of the certificate in DER, in hexadecimal digits;
// openssl's form with colons works, too. EXPIRY is in RFC 3339. All fields but
// the first are optional. Empty lines and lines that begin with # are comments.

#ifndef FLEETPERF_BASE_TLS_CERTIFICATE_LIST_H_
#define FLEETPERF_BASE_TLS_CERTIFICATE_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf {

struct ListedCertificate {
  std::string fingerprint;  // as in CertificateInfo
  absl::Time not_after = absl::InfiniteFuture();
  std::string role;
  std::vector<std::string> names;
};

// Error messages name the line, and call the list `name`.
absl::StatusOr<std::vector<ListedCertificate>> ParseCertificateList(
    absl::string_view text, absl::string_view name);

std::string FormatCertificateList(
    const std::vector<ListedCertificate>& certificates);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TLS_CERTIFICATE_LIST_H_
