#include "base/tls/certificate_list.h"

#include <string>

#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

const std::string kFingerprint(64, 'a');

TEST(CertificateList, RoundTrips) {
  const absl::Time expiry = absl::FromUnixSeconds(1'800'000'000);
  const std::string text = FormatCertificateList({{.fingerprint = kFingerprint,
                                                   .not_after = expiry,
                                                   .role = "agent",
                                                   .names = {"web-1", "db1"}}});
  ASSERT_OK_AND_ASSIGN(const auto list, ParseCertificateList(text, "revoked"));
  ASSERT_EQ(list.size(), 1);
  EXPECT_EQ(list[0].fingerprint, kFingerprint);
  EXPECT_EQ(list[0].not_after, expiry);
  EXPECT_EQ(list[0].role, "agent");
  EXPECT_THAT(list[0].names, ElementsAre("web-1", "db1"));
  EXPECT_THAT(
      ParseCertificateList(FormatCertificateList({}), "revoked").value(),
      IsEmpty());
}

TEST(CertificateList, NeedsOnlyFingerprints) {
  std::string with_colons = "AA";
  for (int i = 1; i < 32; ++i) with_colons += ":AA";
  ASSERT_OK_AND_ASSIGN(
      const auto list,
      ParseCertificateList("\n# stolen\r\n  " + with_colons + "\r\n",
                           "revoked"));
  ASSERT_EQ(list.size(), 1);
  EXPECT_EQ(list[0].fingerprint, kFingerprint);
  EXPECT_EQ(list[0].not_after, absl::InfiniteFuture());
}

TEST(CertificateList, ErrorsNameTheLine) {
  const std::string bad[] = {
      "web-1",
      kFingerprint + "a",
      kFingerprint.substr(1) + "g",
      kFingerprint + " tomorrow",
      "# fleetperf certificate list, version 2",
      kFingerprint + " 2027-01-02T03:04:05Z agent caf\xE9"};
  for (const std::string& line : bad) {
    EXPECT_THAT(ParseCertificateList("#\n" + line + "\n", "revoked"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("revoked:2: the line ")))
        << line;
  }
}

}  // namespace
}  // namespace fleetperf
