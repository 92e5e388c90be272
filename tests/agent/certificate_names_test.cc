#include "agent/certificate_names.h"

#include "base/certificates.h"
#include "base/clock.h"
#include "base/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// DNS names have no case, and Windows spells the names of machines in either.
TEST(CertificateNames, IgnoreCase) {
  const absl::Time expiry = Clock::Real().Now() + absl::Hours(1);
  ASSERT_OK_AND_ASSIGN(const KeyPair authority, MakeAuthority("test", expiry));
  ASSERT_OK_AND_ASSIGN(const KeyPair issued,
                       IssueCertificate(authority, {.role = Role::kAgent,
                                                    .names = {"web-1", "DB1"},
                                                    .not_after = expiry}));
  const testing::TempDirectory directory;
  Config config{.name = "WEB-1"};
  config.tls.certificate = directory.File("agent.pem");
  ASSERT_OK(WriteFile(config.tls.certificate, issued.certificate));
  ASSERT_OK_AND_ASSIGN(const auto names, CertificateNames::Load(config));
  EXPECT_OK(names.Check("WEB-1"));
  EXPECT_OK(names.Check("db1"));
  EXPECT_THAT(names.Check("db2"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("fleetperf pki issue agent WEB-1 DB1 db2")));
}

}  // namespace
}  // namespace fleetperf::agent
