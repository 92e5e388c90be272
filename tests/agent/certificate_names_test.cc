#include "agent/certificate_names.h"

#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// DNS names have no case, and Windows spells the names of machines in either.
TEST(CertificateNames, IgnoreCase) {
  const CertificateNames names("WEB-1", {"web-1", "DB1"});
  EXPECT_OK(names.Check("WEB-1"));
  EXPECT_OK(names.Check("db1"));
  EXPECT_THAT(names.Check("db2"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("fleetperf pki issue agent WEB-1 DB1 db2")));
}

}  // namespace
}  // namespace fleetperf::agent
