#include "agent/certificate_names.h"

#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;

// DNS names have no case, and Windows spells the names of machines in either.
TEST(CertificateNames, IgnoreCase) {
  const CertificateNames names("WEB-1", {"web-1", "DB1"});
  EXPECT_OK(names.Check("WEB-1"));
  EXPECT_OK(names.Check("db1"));
  EXPECT_THAT(names.Check("db2"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       "the agent's certificate does not name \"db2\"; issue "
                       "one with: fleetperf pki issue agent WEB-1 DB1 db2 "
                       "--force"));
}

// A certificate with these names would be refused.
TEST(CertificateNames, AdviseNoImpossibleNames) {
  const CertificateNames names("M\u00FCller-PC", {"web-1"});
  EXPECT_THAT(names.Check("M\u00FCller-PC"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("\"M\u00FCller-PC\" is not allowed in a "
                                       "certificate: a name consists of "),
                             HasSubstr("another name with \"name\" in its "
                                       "agent's configuration"),
                             Not(HasSubstr("pki")))));
  EXPECT_THAT(names.Check("db $(id)"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("run an agent on that machine"),
                             Not(HasSubstr("pki")))));
  EXPECT_THAT(names.Check("db1"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr(": fleetperf pki issue agent web-1 db1")));
}

// At the start of a machine, its name may come later than its agent.
TEST(CertificateNames, AdviseAHostWithoutANameToTakeOne) {
  for (const std::string name : {"localhost", "localhost.localdomain", ""}) {
    EXPECT_THAT(CertificateNames(name, {"web-1", "db1"}).Check(name),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr("the host has no name yet"),
                               HasSubstr("to a name in the certificate: web-1, "
                                         "db1"),
                               Not(HasSubstr("pki")))));
  }
  EXPECT_OK(CertificateNames("localhost", {"localhost"}).Check("localhost"));
  // Another machine that an agent collects from.
  EXPECT_THAT(CertificateNames("web-1", {"web-1"}).Check("localhost"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("pki issue agent web-1 localhost")));
}

}  // namespace
}  // namespace fleetperf::agent
