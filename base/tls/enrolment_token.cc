#include "base/tls/enrolment_token.h"

#include <openssl/rand.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace fleetperf {
namespace {

constexpr char kVersion1[] = "fp1";
constexpr size_t kSecretBytes = 32;
constexpr size_t kFields = 5;

bool IsHash(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isxdigit(c);
         });
}

}  // namespace

absl::StatusOr<EnrolmentToken> MakeEnrolmentToken(
    const std::string& authority, absl::Time expiry,
    std::vector<std::string> names) {
  unsigned char secret[kSecretBytes];
  if (RAND_bytes(secret, sizeof secret) != 1) {
    return absl::InternalError("the system has no random bytes");
  }
  return EnrolmentToken{
      .secret = absl::BytesToHexString(absl::string_view(
          reinterpret_cast<const char*>(secret), sizeof secret)),
      .authority = authority,
      .expiry = absl::FromUnixSeconds(absl::ToUnixSeconds(expiry)),
      .names = std::move(names)};
}

std::string FormatEnrolmentToken(const EnrolmentToken& token) {
  return absl::StrCat(kVersion1, ":", token.secret, ":", token.authority, ":",
                      absl::ToUnixSeconds(token.expiry), ":",
                      absl::StrJoin(token.names, ","));
}

absl::StatusOr<EnrolmentToken> ParseEnrolmentToken(absl::string_view text) {
  // Names that are IPv6 addresses contain colons.
  const std::vector<std::string> fields =
      absl::StrSplit(text, absl::MaxSplits(':', kFields - 1));
  int64_t expiry = 0;
  if (fields.size() != kFields || fields[0] != kVersion1 ||
      !IsHash(fields[1]) || !IsHash(fields[2]) ||
      !absl::SimpleAtoi(fields[3], &expiry) || fields[4].empty()) {
    return absl::InvalidArgumentError(
        "this is not a whole token of fleetperf pki token");
  }
  return EnrolmentToken{.secret = fields[1],
                        .authority = fields[2],
                        .expiry = absl::FromUnixSeconds(expiry),
                        .names = absl::StrSplit(fields[4], ',')};
}

}  // namespace fleetperf
