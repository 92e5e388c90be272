// Tests of plans from the aggregator's configuration, and of collection on
// demand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSystem[] = R"(
plans:
  - name: linux
    operating_system: Linux*
    labels: {role: web}
    queries:
      - counterset: System
  - name: others
    machines: db-*
    queries:
      - counterset: Memory
)";
constexpr char kSystemAndMemory[] = R"(
plans:
  - name: linux
    operating_system: Linux*
    queries:
      - counterset: System
      - counterset: Memory
      - counterset: Memry
)";
constexpr char kLabels[] = "labels: {role: web}\nqueries: []\n";

// Returns the queries of a machine's plan in the form
// "linux: queries[0] System: error".
std::vector<std::string> Queries(const nlohmann::json& machine) {
  std::vector<std::string> texts;
  for (const auto& query : machine["queries"]) {
    texts.push_back(absl::StrCat(query["query"].get<std::string>(), " ",
                                 query["counterset"].get<std::string>(), ": ",
                                 query.value("error", "")));
  }
  return texts;
}

nlohmann::json Machine(const Deployment& deployment, const std::string& name) {
  const auto machines =
      deployment.Json({"machines", "--verbose", "--machine", name});
  EXPECT_EQ(machines.size(), 1);
  return machines.empty() ? nlohmann::json() : machines.front();
}

// Waits until the agent has reported a plan whose queries match. Returns the
// machine, also if kPatience passes first.
template <typename Matcher>
nlohmann::json AwaitQueries(const Deployment& deployment,
                            const std::string& name, const Matcher& matcher) {
  const absl::Time deadline = absl::Now() + kPatience;
  nlohmann::json machine;
  do {
    machine = Machine(deployment, name);
  } while (!::testing::Matches(matcher)(Queries(machine)) &&
           absl::Now() < deadline);
  EXPECT_THAT(Queries(machine), matcher);
  return machine;
}

// Starts an agent and waits until it is connected to the aggregator.
std::unique_ptr<Process> StartConnected(Deployment& deployment,
                                        const std::string& name,
                                        const std::string& more) {
  auto agent = deployment.StartAgent(name, more);
  EXPECT_TRUE(agent->WaitForError("connected to the aggregator"))
      << agent->error();
  return agent;
}

TEST(Plans, ReloadReachesMatchingAgentsAndLosesNoSamples) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator(kSystem);
  const auto agent = StartConnected(deployment, "web-1", kLabels);
  deployment.WaitForSamples("web-1");
  const auto before = AwaitQueries(deployment, "web-1",
                                   ElementsAre("linux: queries[0] System: "));
  const auto other = StartConnected(deployment, "mail-1", "queries: []\n");

  deployment.WriteAggregatorConfig(kSystemAndMemory);
  aggregator->Signal(SIGHUP);
  ASSERT_TRUE(aggregator->WaitForError("changed: plans"));
  const auto planned = ElementsAre(
      "linux: queries[0] System: ", "linux: queries[1] Memory: ",
      "linux: queries[2] : there is no counterset \"Memry\"; did you mean "
      "\"Memory\"?");
  const auto after = AwaitQueries(deployment, "web-1", planned);
  EXPECT_GT(std::stoull(after["plan_version"].get<std::string>()),
            std::stoull(before["plan_version"].get<std::string>()));
  EXPECT_TRUE(deployment.WaitForAnswer(R"(\\web-1\Memory\Available Bytes)"));
  AwaitQueries(deployment, "mail-1", planned);  // the plan now matches, too
  const Result text =
      deployment.Fleetperf({"machines", "--verbose", "--machine", "web-1"});
  EXPECT_THAT(text.output,
              AllOf(HasSubstr("web-1\n"), HasSubstr("linux: queries[1]"),
                    HasSubstr("did you mean \"Memory\"?")));

  agent->Signal(SIGTERM);
  EXPECT_EQ(agent->Wait(), 0);
  const auto samples = deployment.Json(
      {"query", R"(\\web-1\System\Processes)", "--since", "1h", "--raw"});
  ASSERT_GT(samples.size(), 2);
  std::set<nlohmann::json> lives;
  for (const auto& sample : samples) lives.insert(sample["life"]);
  EXPECT_EQ(lives.size(), 1);
  // One sample per second. Ticks that a slow machine missed are counted as
  // lost.
  const double seconds =
      absl::ToDoubleSeconds(TimeOf(samples.back()) - TimeOf(samples.front()));
  const auto lost = std::stoull(
      Machine(deployment, "web-1")["lost_ticks"].get<std::string>());
  EXPECT_NEAR(seconds, static_cast<double>(samples.size() - 1),
              0.9 + static_cast<double>(lost));
}

TEST(Plans, RejectsBadPlanWithLineAndKeepsCurrentPlan) {
  Deployment deployment;
  {
    const auto aggregator = deployment.StartAggregator(kSystem);
    aggregator->Signal(SIGTERM);
    EXPECT_EQ(aggregator->Wait(), 0);
  }
  const std::string bad = R"(
plans:
  - name: linux
    queries:
      - counterset: System
        interval: 100ms
)";
  deployment.WriteAggregatorConfig(bad);
  const Result refused =
      RunCommand({Deployment::Executable("fleetperf-aggregator"), "--config",
                  deployment.File("aggregator.yaml")});
  EXPECT_EQ(refused.status, 1);
  const std::string error = "plans[0].queries[0].interval: 100ms is too short";
  EXPECT_THAT(refused.error,
              AllOf(HasSubstr("aggregator.yaml:"), HasSubstr(error)));

  const auto aggregator = deployment.StartAggregator(kSystem);
  const auto agent = StartConnected(deployment, "web-1", kLabels);
  const auto planned = ElementsAre("linux: queries[0] System: ");
  const auto before = AwaitQueries(deployment, "web-1", planned);
  deployment.WriteAggregatorConfig(bad);
  aggregator->Signal(SIGHUP);
  ASSERT_TRUE(aggregator->WaitForError("keeping the current configuration: "));
  EXPECT_THAT(aggregator->error(),
              AllOf(HasSubstr("aggregator.yaml:"), HasSubstr(error)));
  EXPECT_EQ(Machine(deployment, "web-1")["plan_version"],
            before["plan_version"]);
  // A valid plan is accepted afterwards.
  deployment.WriteAggregatorConfig("plans: []\n");
  aggregator->Signal(SIGHUP);
  const auto own = AwaitQueries(deployment, "web-1", Not(planned));
  EXPECT_EQ(own["plan_version"], "0");
}

TEST(Plans, AgentStartsWithItsLastPlanWithoutAggregator) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator(kSystem);
  auto agent = StartConnected(deployment, "web-1", kLabels);
  AwaitQueries(deployment, "web-1", ElementsAre("linux: queries[0] System: "));
  agent->Signal(SIGTERM);
  EXPECT_EQ(agent->Wait(), 0);
  aggregator->Signal(SIGTERM);
  EXPECT_EQ(aggregator->Wait(), 0);

  agent = deployment.StartAgent("web-1", kLabels);
  ASSERT_TRUE(agent->WaitForError("nothing listens there"));
  agent->Signal(SIGTERM);
  EXPECT_EQ(agent->Wait(), 0);
  // The next process, which gets another plan, delivers these samples.
  const auto again = deployment.StartAggregator();
  agent = StartConnected(deployment, "web-1", kLabels);
  AwaitQueries(deployment, "web-1", ElementsAre());
  const absl::Time deadline = absl::Now() + kPatience;
  std::set<nlohmann::json> lives;
  while (lives.size() < 3 && absl::Now() < deadline) {
    for (const auto& sample :
         deployment.Json({"query", "\\\\web-1\\System\\Processes", "--since",
                          "1h", "--raw"})) {
      lives.insert(sample["life"]);
    }
  }
  // Each of the three processes collected, because the last one also started
  // with the plan it knew.
  EXPECT_EQ(lives.size(), 3);
}

TEST(Plans, CollectsOnDemandWhileWatched) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent =
      deployment.StartAgent("web-1", "queries: [{counterset: System}]\n");
  deployment.WaitForSamples("web-1");
  const std::string path = "\\\\web-1\\Memory\\Available Bytes";

  // The error names the next step.
  for (const std::string command : {"query", "watch"}) {
    const Result missed = deployment.Fleetperf({command, path});
    EXPECT_EQ(missed.status, 2);
    EXPECT_THAT(missed.error,
                AllOf(HasSubstr("this is not collected; 1 machine could"),
                      HasSubstr("--collect 60s")));
  }
  const Result misspelt =
      deployment.Fleetperf({"query", "\\Memory\\Availble Bytes"});
  EXPECT_THAT(misspelt.error, HasSubstr("did you mean \"Available Bytes\""));

  // Collection on demand requires the role operator.
  const Result refused =
      deployment.Fleetperf({"watch", path, "--collect", "60s"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("requires the role operator"),
                                   HasSubstr("--certificate")));

  const TlsFiles alice = deployment.Issue("operator", {"alice"});
  const auto as_operator = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--certificate", alice.certificate, "--key", alice.key});
    return arguments;
  };
  const auto own = ElementsAre("queries[0] System: ");
  {
    const auto watch = deployment.StartFleetperf(
        as_operator({"watch", path, "--collect", "1h", "--format", "json"}));
    ASSERT_TRUE(watch->WaitForOutput("\"ok\"", 3)) << watch->error();
    EXPECT_THAT(watch->error(),
                HasSubstr("collecting Memory on 1 machine for 1h"));
    AwaitQueries(deployment, "web-1",
                 ElementsAre("queries[0] System: ", "--collect Memory: "));
    watch->Signal(SIGINT);
    EXPECT_EQ(watch->Wait(), 0);
  }
  EXPECT_EQ(AwaitQueries(deployment, "web-1", own)["plan_version"], "0");
  // The collection also ends if the client is killed.
  {
    const auto watch = deployment.StartFleetperf(
        as_operator({"watch", path, "--collect", "1h", "--format", "json"}));
    AwaitQueries(deployment, "web-1",
                 ElementsAre("queries[0] System: ", "--collect Memory: "));
    watch->Signal(SIGKILL);
    watch->Wait();
  }
  AwaitQueries(deployment, "web-1", own);

  // A query collects for the given time, returns the values of that time and
  // ends the collection.
  // A slow machine may need longer than a short time for the first samples.
  Result answer;
  for (const std::string time : {"3s", "30s"}) {
    answer = deployment.Fleetperf(as_operator(
        {"query", "100 * \\Memory\\Committed Bytes / '\\Memory\\Commit Limit'",
         "--collect", time, "--step", "1s", "--format", "json"}));
    if (answer.status == 0) break;
  }
  EXPECT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.output, HasSubstr("\"ok\""));
  AwaitQueries(deployment, "web-1", own);

  const Result nothing = deployment.Fleetperf(
      as_operator({"watch", "\\Memry\\*", "--collect", "60s"}));
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.error,
              HasSubstr("there is no counterset \"Memry\"; did you mean "
                        "\"Memory\"?"));
  const Result long_time =
      deployment.Fleetperf(as_operator({"watch", path, "--collect", "2h"}));
  EXPECT_EQ(long_time.status, 1);
  EXPECT_THAT(long_time.error,
              HasSubstr("a duration of 2h is not between 1s and 1h"));
}

TEST(Plans, CollectsOnDemandFromSelectedMachines) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const std::string system = "queries: [{counterset: System}]\n";
  const auto web =
      deployment.StartAgent("web-1", "labels: {role: web}\n" + system);
  const auto db =
      deployment.StartAgent("db-1", "labels: {role: db}\n" + system);
  deployment.WaitForSamples("web-1");
  deployment.WaitForSamples("db-1");
  const TlsFiles alice = deployment.Issue("operator", {"alice"});
  const struct {
    std::vector<std::string> flags;
    std::string selected;
    std::string other;
  } kCases[] = {{{"--label", "role=web"}, "web-1", "db-1"},
                {{"--machine", "d*"}, "db-1", "web-1"}};
  for (const auto& test : kCases) {
    std::vector<std::string> arguments = {
        "watch",         "\\Memory\\Available Bytes",
        "--collect",     "1h",
        "--format",      "json",
        "--certificate", alice.certificate,
        "--key",         alice.key};
    arguments.insert(arguments.end(), test.flags.begin(), test.flags.end());
    const auto watch = deployment.StartFleetperf(arguments);
    ASSERT_TRUE(watch->WaitForOutput("\"ok\"")) << watch->error();
    EXPECT_THAT(watch->error(),
                HasSubstr("collecting Memory on 1 machine for 1h"));
    AwaitQueries(deployment, test.selected,
                 ElementsAre("queries[0] System: ", "--collect Memory: "));
    AwaitQueries(deployment, test.other, ElementsAre("queries[0] System: "));
    // Both could collect the counter.
    const auto is_collected = [&](const std::vector<std::string>& flags) {
      std::vector<std::string> counters = {"counters", "Memory"};
      counters.insert(counters.end(), flags.begin(), flags.end());
      for (const auto& line : deployment.Json(counters)) {
        if (line.at("counter") == "Available Bytes") {
          return line.at("collected") == true;
        }
      }
      ADD_FAILURE() << "no counter";
      return false;
    };
    EXPECT_TRUE(is_collected(test.flags));
    // web-1 has collected it before the second case.
    if (test.other == "db-1") {
      EXPECT_FALSE(is_collected({"--machine", "d*"}));
      EXPECT_FALSE(is_collected({"--label", "role=db"}));
    }
    EXPECT_THAT(watch->output(), Not(HasSubstr("\"" + test.other + "\"")));
    watch->Signal(SIGINT);
    EXPECT_EQ(watch->Wait(), 0);
    AwaitQueries(deployment, test.selected, ElementsAre("queries[0] System: "));
  }
}

}  // namespace
}  // namespace fleetperf::testing
