// One-time tokens with which agents get their certificates.
//
//   fp1:SECRET:AUTHORITY:EXPIRY:NAME,NAME...
//
// SECRET is random. AUTHORITY is the fingerprint of the authority's
// certificate, by which the agent knows the server (CheckEnrolmentServer), and
// which alone issues certificates of its role. EXPIRY is in seconds since
// 1970. The server keeps the SHA-256 of the whole text, so that a token with
// any change is unknown.

#ifndef FLEETPERF_BASE_TLS_ENROLMENT_TOKEN_H_
#define FLEETPERF_BASE_TLS_ENROLMENT_TOKEN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf {

struct EnrolmentToken {
  std::string secret;     // 32 bytes in hexadecimal digits
  std::string authority;  // as in CertificateInfo::fingerprint
  absl::Time expiry;
  std::vector<std::string> names;  // at least one
};

// Returns a token with a new secret.
absl::StatusOr<EnrolmentToken> MakeEnrolmentToken(
    const std::string& authority, absl::Time expiry,
    std::vector<std::string> names);

std::string FormatEnrolmentToken(const EnrolmentToken& token);
absl::StatusOr<EnrolmentToken> ParseEnrolmentToken(absl::string_view text);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TLS_ENROLMENT_TOKEN_H_
