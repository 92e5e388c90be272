// Processes of a real machine in tables, CSV and verdicts. Anybody can choose
// the name of a process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::unique_ptr<Process> Idle(const std::string& name) {
  return std::make_unique<Process>(name, [] {
    for (;;) pause();
  });
}

class ProcessNames : public ::testing::Test {
 protected:
  void Start() {
    aggregator_ = deployment_.StartAggregator();
    agent_ = deployment_.StartAgent("box");
    deployment_.WaitForSamples("box");
  }

  Deployment deployment_;
  std::unique_ptr<Process> aggregator_;
  std::unique_ptr<Process> agent_;
};

TEST_F(ProcessNames, AreNoFormulasInCsv) {
  const auto formula = Idle("=1+1");
  const auto function = Idle("@SUM(1)");
  Start();
  for (const std::string command :
       {"instances 'Process V2'",
        "query '\\Process V2(*)\\Thread Count' --since 1m --agg sum --by name",
        "query '\\Process V2(*)\\Thread Count' --since 1m --agg sum "
        "--by instance",
        "query '\\Process V2(*)\\Thread Count' --since 1m --pivot"}) {
    SCOPED_TRACE(command);
    const Result csv = deployment_.Shell(command + " --format csv");
    EXPECT_EQ(csv.status, 0) << csv.error;
    EXPECT_THAT(csv.output, ContainsRegex(",'=1[+]1(:[0-9]+)?,"));
    EXPECT_THAT(csv.output, ContainsRegex(",'@SUM[(]1[)](:[0-9]+)?,"));
    EXPECT_THAT(csv.output, Not(HasSubstr(",=")));
    EXPECT_THAT(csv.output, Not(HasSubstr(",@")));
  }
  // Programs get the name.
  EXPECT_THAT(deployment_.Shell("instances 'Process V2' --format json").output,
              ContainsRegex("\"=1[+]1:[0-9]+\""));
}

TEST_F(ProcessNames, OfEndedProcessesAreWordsInTables) {
  Start();
  const std::string query = "query '\\Process V2(ended:0)\\% Processor Time' ";
  ASSERT_TRUE(
      deployment_.WaitForAnswer("\\Process V2(ended:0)\\% Processor Time"));
  EXPECT_THAT(deployment_.Shell(query).output,
              AllOf(ContainsRegex("Time +[(]ended processes[)] "),
                    Not(HasSubstr("ended:0"))));
  EXPECT_THAT(deployment_.Shell(query + "--format json").output,
              HasSubstr("(ended:0)"));
}

TEST_F(ProcessNames, AreAtMostTenInPerformanceData) {
  std::vector<std::unique_ptr<Process>> idle;
  for (int i = 0; i < 12; ++i) idle.push_back(Idle("fleetperf-idle"));
  Start();
  const auto data_of = [&](const std::string& flags) {
    const Result check = deployment_.Shell(
        "check '\\Process V2(fleetperf-idle:*)\\Thread Count' --since 1m " +
        flags);
    EXPECT_EQ(check.status, 0) << check.output;
    const std::vector<std::string> parts = absl::StrSplit(check.output, " | ");
    EXPECT_THAT(parts, SizeIs(2)) << check.output;
    return std::vector<std::string>(
        absl::StrSplit(parts.back(), " '", absl::SkipEmpty()));
  };
  EXPECT_THAT(data_of(""), SizeIs(10));
  EXPECT_THAT(data_of("--top 2"), SizeIs(2));
  const Result none = deployment_.Shell(
      "check '\\Process V2(fleetperf-idle:*)\\Thread Count' --since 1m "
      "--where '> 5'");
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(none.output, "FLEETPERF OK - no value is > 5\n");
}

}  // namespace
}  // namespace fleetperf::testing
