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

}  // namespace
}  // namespace fleetperf::testing
