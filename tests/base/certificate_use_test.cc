#include "base/certificate_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "base/certificates.h"
#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /CN=old
//   -addext extendedKeyUsage=serverAuth -days 36500
constexpr char kOfServer[] = R"(-----BEGIN CERTIFICATE-----
MIIBiDCCAS6gAwIBAgIUM4/9FOUDTjLKvvD3x2R53AsVIzcwCgYIKoZIzj0EAwIw
DjEMMAoGA1UEAwwDb2xkMCAXDTI2MTEyNzIxMjIxM1oYDzIxMjYxMTAzMjEyMjEz
WjAOMQwwCgYDVQQDDANvbGQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATnjSzu
DrYFeoizGq5P1zAEyb9iTuzfI+c3KB59lTnHDKiPXc4u8VNfmE5iuoRe45UP80L3
aBJ5MiO0l7O6BU4vo2gwZjAdBgNVHQ4EFgQUzhJ49RO4XEpk08cWvmQhVOIGIbIw
HwYDVR0jBBgwFoAUzhJ49RO4XEpk08cWvmQhVOIGIbIwDwYDVR0TAQH/BAUwAwEB
/zATBgNVHSUEDDAKBggrBgEFBQcDATAKBggqhkjOPQQDAgNIADBFAiEAkJO6LIK8
1rgECQAiGrGw6EDZe24jZuKOE9zvim3bqikCID5ynjX+kCuHbJpIhAATLXzdO7IG
Cv4VZupXsIDWlOll
-----END CERTIFICATE-----
)";

TEST(CertificateUse, AggregatorsAreClientsButServersOnlyAreNot) {
  const auto authority = MakeAuthority("test", absl::Now() + absl::Hours(2));
  ASSERT_OK(authority);
  const auto aggregator =
      IssueCertificate(*authority, {.role = Role::kAggregator,
                                    .names = {"localhost"},
                                    .not_after = absl::Now() + absl::Hours(1)});
  ASSERT_OK(aggregator);
  EXPECT_OK(CheckClientUse(aggregator->certificate, "a.pem"));
  EXPECT_OK(CheckClientUse(authority->certificate, "a.pem"));  // has no limit
  EXPECT_THAT(CheckClientUse(kOfServer, "a.pem"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("a.pem may be used by a server only")));
}

}  // namespace
}  // namespace fleetperf
