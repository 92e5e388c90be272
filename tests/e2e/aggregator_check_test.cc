// fleetperf-aggregator check.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AggregatorCheckTest : public ::testing::Test {
 protected:
  Result Check() const {
    return RunCommand({Deployment::Executable("fleetperf-aggregator"), "check",
                       "--config", deployment_.File("aggregator.yaml")});
  }

  // Writes a configuration with this section "store" and certificate.
  void WriteConfig(const std::string& store, const std::string& certificate,
                   const std::string& authority = "authority.pem") {
    Deployment::Write(
        deployment_.File("aggregator.yaml"),
        absl::StrCat("listen: 127.0.0.1:0\nstore: ", store, "\n",
                     Deployment::TlsSection(
                         {.authority = deployment_.File(authority),
                          .certificate = deployment_.File(certificate + ".pem"),
                          .key = deployment_.File(certificate + ".key")})));
  }

  // Expects one problem, with the text.
  void ExpectProblem(const std::string& text) const {
    const Result result = Check();
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.output,
                AllOf(HasSubstr("  PROBLEM  "), HasSubstr(text)));
    EXPECT_THAT(result.error, HasSubstr("fleetperf-aggregator: 1 problem\n"));
  }

  // Starts an aggregator, which makes a store, and stops it.
  void MakeStore() {
    const auto aggregator = deployment_.StartAggregator();
    aggregator->Signal(SIGTERM);
    EXPECT_EQ(aggregator->Wait(), 0);
  }

  Deployment deployment_;
};

constexpr char kGood[] = "aggregator-localhost";

TEST_F(AggregatorCheckTest, FindsNoProblemBeforeAndAfterTheFirstStart) {
  deployment_.WriteAggregatorConfig("");
  const Result before = Check();
  EXPECT_EQ(before.status, 0) << before.output << before.error;
  EXPECT_THAT(before.output,
              AllOf(HasSubstr("for localhost, until "),
                    HasSubstr("no store yet"), Not(HasSubstr("PROBLEM"))));
  EXPECT_FALSE(std::filesystem::exists(deployment_.File("store")));

  MakeStore();
  const Result after = Check();
  EXPECT_EQ(after.status, 0) << after.output << after.error;
  EXPECT_THAT(after.output, AllOf(HasSubstr("fleetperf-aggregator verify"),
                                  Not(HasSubstr("PROBLEM"))));
}

TEST_F(AggregatorCheckTest, FindsARunningAggregator) {
  const auto aggregator = deployment_.StartAggregator();
  deployment_.WriteAggregatorConfig("");  // with the port that was chosen
  const Result result = Check();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("the port is in use by another process"),
                    HasSubstr("another process has it open; stop it first")));
  EXPECT_THAT(result.error, HasSubstr("2 problems"));
}

TEST_F(AggregatorCheckTest, FindsWrongCertificatesAndKeys) {
  WriteConfig("{directory: store}", "reader-tester");
  ExpectProblem(
      "reader-tester.pem has the role reader; make one with: fleetperf pki "
      "issue aggregator");
  const Deployment other;  // with another authority
  std::filesystem::copy_file(other.File("authority.pem"),
                             deployment_.File("other.pem"));
  WriteConfig("{directory: store}", kGood, "other.pem");
  ExpectProblem("aggregator-localhost.pem is not from an authority in ");
  WriteConfig("{directory: store}", "missing");
  ExpectProblem("missing.pem");
  WriteConfig("{directory: store}", kGood);
  const std::string key = deployment_.File("aggregator-localhost.key");
  ASSERT_EQ(chmod(key.c_str(), 0644), 0);
  ExpectProblem("run: chmod 600 '" + key + "'");
}

TEST_F(AggregatorCheckTest, FindsDirectoriesThatCannotBeUsed) {
  WriteConfig("{directory: config.yaml/store}", kGood);
  Deployment::Write(deployment_.File("config.yaml"), "");
  ExpectProblem("config.yaml is not a directory");
}

// A directory that root made for the user of the aggregator.
TEST_F(AggregatorCheckTest, AdvisesToGiveADirectoryToTheUser) {
  const std::string directory = deployment_.File("of-root");
  std::filesystem::create_directory(directory);
  ASSERT_EQ(chmod(directory.c_str(), 0500), 0);
  WriteConfig("{directory: of-root/store}", kGood);
  std::vector<std::string> command = {
      Deployment::Executable("fleetperf-aggregator"), "check", "--config",
      deployment_.File("aggregator.yaml")};
  if (access(directory.c_str(), W_OK) == 0) {  // for root, like a usual user
    command.insert(command.begin(),
                   {"setpriv", "--inh-caps=-all",
                    "--bounding-set=-dac_override,-dac_read_search"});
  }
  const Result result = RunCommand(command);
  EXPECT_EQ(result.status, 1) << result.error;
  EXPECT_THAT(result.output,
              HasSubstr(absl::StrCat(
                  "  PROBLEM  cannot write to ", directory,
                  ": Permission denied; give it to the user that runs the "
                  "aggregator: chown USER '",
                  directory, "'")));
}

TEST_F(AggregatorCheckTest, FindsADamagedStore) {
  MakeStore();
  std::filesystem::remove(deployment_.File("store/CURRENT"));
  ExpectProblem(
      "the file CURRENT is missing; fleetperf-aggregator repair --config FILE "
      "saves what is sound");
}

TEST_F(AggregatorCheckTest, FindsADiskThatIsTooSmall) {
  WriteConfig("{directory: store, max_size: 1024TiB}", kGood);
  ExpectProblem("store.max_size is 1073741824 MiB, but the disk has room for ");
}

}  // namespace
}  // namespace fleetperf::testing
