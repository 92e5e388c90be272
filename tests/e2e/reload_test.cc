// Reloads of the configuration by SIGHUP.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/e2e/deployment.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRoleWeb[] = R"(
labels: {role: web}
queries:
  - counterset: System
)";
constexpr char kRoleDatabase[] = R"(
labels: {role: database}
queries:
  - counterset: System
  - counterset: Memory
log: {level: debug}
)";

// Waits until `fleetperf machines` shows the role of web-1. Returns the role
// that it shows last.
std::string AwaitRole(const Deployment& deployment, const std::string& role) {
  const absl::Time deadline = absl::Now() + kPatience;
  std::string shown;
  while (shown != role && absl::Now() < deadline) {
    for (const auto& machine : deployment.Json({"machines"})) {
      if (machine["machine"] == "web-1") {
        shown = machine["labels"].value("role", "");
      }
    }
  }
  return shown;
}

TEST(Reload, AgentAppliesLabelsAndQueriesWithoutARestart) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("web-1", kRoleWeb);
  deployment.WaitForSamples("web-1");
  EXPECT_EQ(AwaitRole(deployment, "web"), "web");

  deployment.WriteAgentConfig("web-1", {}, kRoleDatabase);
  agent->Signal(SIGHUP);
  ASSERT_TRUE(agent->WaitForError("changed: labels, queries, log.level"))
      << agent->error();
  EXPECT_THAT(agent->error(), Not(HasSubstr("restart to apply")));
  EXPECT_TRUE(deployment.WaitForAnswer(R"(\\web-1\Memory\Available Bytes)"));
  EXPECT_EQ(AwaitRole(deployment, "database"), "database");

  agent->Signal(SIGTERM);
  EXPECT_EQ(agent->Wait(), 0);
  // The collection of System went on: its instance has had one life.
  std::set<nlohmann::json> lives;
  for (const auto& sample :
       deployment.Json({"query", R"(\\web-1\System\Processes)", "--since", "1h",
                        "--raw"})) {
    lives.insert(sample["life"]);
  }
  EXPECT_EQ(lives.size(), 1);
}

TEST(Reload, AgentKeepsItsConfigurationIfTheFileIsWrong) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("web-1", kRoleWeb);
  deployment.WaitForSamples("web-1");

  const std::string path = deployment.WriteAgentConfig(
      "web-1", {}, absl::StrCat(kRoleDatabase, "lables: {role: x}\n"));
  agent->Signal(SIGHUP);
  ASSERT_TRUE(agent->WaitForError("keeping the current configuration: "))
      << agent->error();
  EXPECT_THAT(agent->error(),
              HasSubstr("unknown key \"lables\"; did you mean \"labels\"?"));

  // The wrong file changed nothing: the correct one still changes the queries.
  deployment.WriteAgentConfig(
      "web-1", {}, absl::StrCat(kRoleDatabase, "state_directory: other\n"));
  agent->Signal(SIGHUP);
  ASSERT_TRUE(agent->WaitForError("keeping the current configuration: ", 2))
      << agent->error();  // the key is set twice
  deployment.WriteAgentConfig(
      "web-1", {},
      absl::StrCat(kRoleDatabase, "delivery: {batch_period: 5s}\n"));
  agent->Signal(SIGHUP);
  ASSERT_TRUE(agent->WaitForError(absl::StrCat(
      "restart to apply the changes of delivery.batch_period in ", path)))
      << agent->error();
  EXPECT_THAT(agent->error(), HasSubstr("changed: labels, queries, log.level"));
  EXPECT_TRUE(deployment.WaitForAnswer(R"(\\web-1\Memory\Available Bytes)"));
}

TEST(Reload, AggregatorNamesTheKeysThatNeedARestart) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator("log: {level: info}\n");
  deployment.WriteAggregatorConfig(
      "log: {level: debug}\nsubscriptions: {max_subscribers: 8}\n");
  aggregator->Signal(SIGHUP);
  ASSERT_TRUE(aggregator->WaitForError("subscriptions.max_subscribers"))
      << aggregator->error();
  // Port 0 became the port that was chosen.
  EXPECT_THAT(aggregator->error(),
              HasSubstr("restart to apply the changes of listen, "
                        "subscriptions.max_subscribers in "));
  EXPECT_THAT(aggregator->error(), HasSubstr("changed: log.level\n"));

  deployment.WriteAggregatorConfig("store: {retention: 30d}\n");
  aggregator->Signal(SIGHUP);
  ASSERT_TRUE(aggregator->WaitForError("\"store\" is set twice"))
      << aggregator->error();
  EXPECT_THAT(aggregator->error(),
              HasSubstr("keeping the current configuration: "));
  aggregator->Signal(SIGTERM);
  EXPECT_EQ(aggregator->Wait(), 0);
}

// A file that was saved in Latin-1. Such a plan would reach no agent.
TEST(Reload, RefusesTextThatIsNotUtf8) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("web-1", kRoleWeb);
  deployment.WaitForSamples("web-1");

  deployment.WriteAggregatorConfig(
      "plans:\n- name: K\xF6ln\n  queries: [{counterset: Memory}]\n");
  aggregator->Signal(SIGHUP);
  ASSERT_TRUE(aggregator->WaitForError("keeping the current configuration: "))
      << aggregator->error();
  EXPECT_THAT(aggregator->error(),
              ContainsRegex("aggregator.yaml:[0-9]+: plans.0..name: "
                            "\"K.xF6ln\" is not UTF-8"));
  const Result check =
      RunCommand({Deployment::Executable("fleetperf-aggregator"), "check",
                  "--config", deployment.File("aggregator.yaml")});
  EXPECT_EQ(check.status, 1);
  EXPECT_THAT(check.error, HasSubstr("plans[0].name: \"K\\xF6ln\" is not"));

  const std::string path = deployment.WriteAgentConfig(
      "web-1", {},
      absl::StrCat(kRoleDatabase, "capture: {directory: \"\\a\"}"));
  agent->Signal(SIGHUP);
  ASSERT_TRUE(agent->WaitForError("keeping the current configuration: "))
      << agent->error();
  EXPECT_THAT(agent->error(),
              ContainsRegex("web-1.yaml:[0-9]+: capture.directory: "
                            "\".x07\" has the control character U.0007"));
  const Result agent_check = RunCommand(
      {Deployment::Executable("fleetperf-agent"), "check", "--config", path});
  EXPECT_EQ(agent_check.status, 1);
  EXPECT_THAT(agent_check.error, HasSubstr("capture.directory: \"\\x07\""));

  // The plan in force goes on.
  const absl::Time refused = absl::Now();
  const absl::Time deadline = refused + kPatience;
  absl::Time newest;
  while (newest <= refused && absl::Now() < deadline) {
    for (const auto& line : deployment.Json({"machines"})) {
      std::string error;
      absl::ParseTime(absl::RFC3339_full, std::string(line["newest_sample"]),
                      &newest, &error);
      if (newest > refused) {
        EXPECT_EQ(line["state"], "connected");
      }
    }
  }
  EXPECT_GT(newest, refused);
}

TEST(Reload, ProgramsRefuseArgumentsThatAreNotText) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const Result query =
      deployment.Fleetperf({"query", "\\System\\Caf\xE9", "--since", "1m"});
  EXPECT_EQ(query.status, 1);
  EXPECT_EQ(query.output, "");
  EXPECT_THAT(query.error, HasSubstr("PATH: \"\\System\\Caf\\xE9\" is not"));
  const Result list =
      deployment.Fleetperf({"machines", "--machine", "a\x1B[2J"});
  EXPECT_EQ(list.status, 1);
  EXPECT_THAT(list.error,
              HasSubstr("--machine: \"a\\x1B[2J\" has the control"));
  for (const char* program : {"fleetperf-agent", "fleetperf-aggregator"}) {
    const Result daemon = RunCommand(
        {Deployment::Executable(program), "--config", "caf\xE9.yaml"});
    EXPECT_EQ(daemon.status, 2) << program;
    EXPECT_THAT(daemon.error,
                HasSubstr("--config: \"caf\\xE9.yaml\" is not UTF-8"));
  }
}

}  // namespace
}  // namespace fleetperf::testing
