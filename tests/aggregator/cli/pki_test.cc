#include <string>
#include <vector>

#include "aggregator/cli/commands.h"
#include "base/certificate_list.h"
#include "base/certificates.h"
#include "base/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

TEST(PkiInit, MakesTheDirectoryOnlyIfItSucceeds) {
  const testing::TempDirectory directory;
  const std::string pki = directory.File("a/pki");
  PkiFlags flags = {.directory = pki, .name = "test", .valid = "never"};
  EXPECT_THAT(PkiInit(flags), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("--valid")));
  EXPECT_FALSE(FileExists(directory.File("a")));
  flags.valid = "1h";
  EXPECT_OK(PkiInit(flags));
  EXPECT_TRUE(FileExists(pki + "/authority.key"));
}

TEST(PkiToken, RemovesExpiredTokens) {
  const testing::TempDirectory directory;
  PkiFlags flags = {.directory = directory.path(), .name = "test"};
  ASSERT_OK(PkiInit(flags));
  flags.names = {"web-1"};
  const auto make = [&](const char* valid) {
    flags.valid = valid;
    EXPECT_OK(PkiToken(flags));
  };
  const auto kept = [&] {
    return ListDirectory(directory.File("tokens"))->size();
  };
  make("1h");
  make("1ms");  // expires at the last full second
  EXPECT_EQ(kept(), 2);
  make("1h");
  EXPECT_EQ(kept(), 2);
}

class PkiRevokeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PkiFlags flags = Flags();
    flags.name = "test";
    ASSERT_OK(PkiInit(flags));
  }

  PkiFlags Flags() const { return {.directory = directory_.path()}; }

  // Returns the certificate's fingerprint.
  std::string Issue(const std::string& role,
                    const std::vector<std::string>& names) {
    PkiFlags flags = Flags();
    flags.role = role;
    flags.names = names;
    flags.force = true;
    EXPECT_OK(PkiIssue(flags));
    return ReadCertificate(
               *ReadFile(directory_.File(role + "-" + names[0] + ".pem")))
        ->fingerprint;
  }

  absl::Status Revoke(const std::string& role, const std::string& name) {
    PkiFlags flags = Flags();
    flags.role = role;
    flags.revoked = name;
    return PkiRevoke(flags);
  }

  absl::Status RevokeFile(const std::string& file) {
    PkiFlags flags = Flags();
    flags.file = directory_.File(file);
    return PkiRevoke(flags);
  }

  std::vector<std::string> Revoked() {
    const auto list =
        ParseCertificateList(*ReadFile(directory_.File("revoked")), "revoked");
    EXPECT_OK(list);
    std::vector<std::string> fingerprints;
    for (const ListedCertificate& listed : *list) {
      fingerprints.push_back(listed.fingerprint);
    }
    return fingerprints;
  }

  const testing::TempDirectory directory_;
};

TEST_F(PkiRevokeTest, ListsAllCertificatesOfAName) {
  EXPECT_THAT(Revoked(), IsEmpty());
  const std::string first = Issue("agent", {"web-1"});
  const std::string second = Issue("agent", {"web-1", "db1"});
  const std::string third = Issue("agent", {"gateway", "WEB-1"});
  Issue("agent", {"web-2"});
  Issue("reader", {"web-1"});
  EXPECT_OK(Revoke("agent", "Web-1"));
  EXPECT_THAT(Revoked(), UnorderedElementsAre(first, second, third));
  EXPECT_OK(Revoke("agent", "web-1"));
  EXPECT_THAT(Revoked(), UnorderedElementsAre(first, second, third));
}

TEST_F(PkiRevokeTest, TakesAFile) {
  const std::string alice = Issue("reader", {"alice"});
  EXPECT_OK(RevokeFile("reader-alice.pem"));
  EXPECT_THAT(Revoked(), ElementsAre(alice));
}

TEST_F(PkiRevokeTest, RevokesAnAggregator) {
  const std::string aggregator = Issue("aggregator", {"localhost"});
  EXPECT_OK(Revoke("aggregator", "localhost"));
  EXPECT_THAT(Revoked(), ElementsAre(aggregator));
}

TEST_F(PkiRevokeTest, RefusesWhatWouldLockOutOrIsUnknown) {
  EXPECT_THAT(RevokeFile("authority.pem"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("every certificate would be refused")));
  EXPECT_THAT(Revoke("agent", "web-1"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--file")));
  EXPECT_THAT(PkiRevoke(Flags()), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("--file")));
  EXPECT_THAT(Revoked(), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::cli
