// The commands that messages advise.

#include "base/tls/pki_commands.h"

#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "base/tls/certificates.h"
#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

TEST(PkiCommands, NameWhatCertificatesCanHave) {
  EXPECT_EQ(IssueCommand(Role::kAgent, {"web-1", "db1", "WEB-1"}),
            "fleetperf pki issue agent web-1 db1");
  EXPECT_EQ(IssueCommand(Role::kAgent, {"M\u00FCller-PC", "$(id)", "db1"}),
            "fleetperf pki issue agent db1");
  EXPECT_EQ(IssueCommand(Role::kAggregator, {}),
            "fleetperf pki issue aggregator NAME");
  EXPECT_EQ(TokenCommand({"web-1", "db1"}), "fleetperf pki token web-1 db1");
  EXPECT_EQ(TokenCommand({"a b"}), "fleetperf pki token NAME");
  EXPECT_EQ(IssueCommand(Role::kAgent, {"--force", "-o", "db1"}),
            "fleetperf pki issue agent db1");
}

TEST(PkiCommands, IssueACertificateAgain) {
  const absl::Time end = absl::Now() + absl::Hours(1);
  ASSERT_OK_AND_ASSIGN(const KeyPair authority, MakeAuthority("test", end));
  const auto again = [&](Role role, const std::vector<std::string>& names) {
    const auto issued = IssueCertificate(
        authority, {.role = role, .names = names, .not_after = end});
    EXPECT_OK(issued);
    return ReissueCommand(*ReadCertificate(issued->certificate));
  };
  EXPECT_EQ(again(Role::kAgent, {"web-1", "db1"}),
            "fleetperf pki issue agent web-1 db1 --force");
  // The first name is that of the files.
  EXPECT_EQ(again(Role::kAggregator, {"10.0.0.1", "agg", "fe80::a:1"}),
            "fleetperf pki issue aggregator 10.0.0.1 agg fe80:0:0:0:0:0:a:1 "
            "--force");
  EXPECT_EQ(ReissueCommand(*ReadCertificate(authority.certificate)),
            "fleetperf pki issue ROLE NAME --force");
}

}  // namespace
}  // namespace fleetperf
