#include <wordexp.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/os/files.h"
#include "base/tls/certificate_info.h"
#include "base/tls/certificate_list.h"
#include "base/tls/pki_commands.h"
#include "cli/command_line.h"
#include "cli/commands.h"
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

// Runs the fleetperf command that ends a message, as a shell would, with these
// arguments added. Returns the exit status.
int RunAdvice(absl::string_view message,
              const std::vector<std::string>& more = {}) {
  const size_t start = message.find("fleetperf pki ");
  EXPECT_NE(start, message.npos) << message;
  const std::string command(
      message.substr(start, message.find(", and") - start));
  wordexp_t words;
  EXPECT_EQ(wordexp(command.c_str(), &words, WRDE_NOCMD | WRDE_UNDEF), 0)
      << command;
  std::vector<std::string> arguments(words.we_wordv,
                                     words.we_wordv + words.we_wordc);
  wordfree(&words);
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return RunCommandLine(static_cast<int>(argv.size()), argv.data());
}

TEST(PkiAdvice, CanBeRun) {
  const testing::TempDirectory directory;
  const PkiFlags flags = {.directory = directory.File("it's $HOME")};
  const auto names_of = [&](const std::string& file) {
    const CertificateInfo info =
        *ReadCertificate(*ReadFile(flags.directory + "/" + file));
    std::vector<std::string> names = info.names;
    names.insert(names.end(), info.addresses.begin(), info.addresses.end());
    return names;
  };
  PkiFlags issue = flags;
  issue.role = "aggregator";
  issue.names = {"127.0.0.1", "localhost", "::1"};
  EXPECT_EQ(RunAdvice(PkiIssue(issue).message()), 0);  // no authority
  ASSERT_OK(PkiIssue(issue));

  const auto names = names_of("aggregator-127.0.0.1.pem");
  const CertificateInfo expired = *ReadCertificate(
      *ReadFile(flags.directory + "/aggregator-127.0.0.1.pem"));
  const std::vector<std::string> here = {"--directory", flags.directory};
  EXPECT_EQ(RunAdvice(ReissueCommand(expired), here), 0);
  EXPECT_EQ(names_of("aggregator-127.0.0.1.pem"), names);
  EXPECT_EQ(RunAdvice(IssueCommand(Role::kAgent, {"web-1", "x y"}), here), 0);
  EXPECT_EQ(RunAdvice(TokenCommand({"web-1", "db1"}), here), 0);

  PkiFlags revoke = flags;
  revoke.file = flags.directory + "/authority.pem";
  EXPECT_EQ(RunAdvice(PkiRevoke(revoke).message()), 0);  // a new authority
}

}  // namespace
}  // namespace fleetperf::cli
