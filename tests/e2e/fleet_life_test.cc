// Machines that leave the fleet, and machines that are missing from it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/os/files.h"
#include "perflib/clocks.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Returns the state that `fleetperf machines` shows; "" if it does not list the
// machine.
std::string StateOf(const Deployment& deployment, const std::string& machine) {
  for (const auto& line : deployment.Json({"machines"})) {
    if (line["machine"] == machine) return line["state"];
  }
  return "";
}

bool AwaitState(const Deployment& deployment, const std::string& machine,
                const std::string& state) {
  const absl::Time deadline = absl::Now() + kPatience;
  do {
    if (StateOf(deployment, machine) == state) return true;
  } while (absl::Now() < deadline);
  return false;
}

class FleetLife : public ::testing::Test {
 protected:
  // Runs `fleetperf machines forget` with an operator's certificate.
  Result Forget(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "forget");
    arguments.insert(arguments.begin(), "machines");
    arguments.insert(arguments.end(), {"--certificate", operator_.certificate,
                                       "--key", operator_.key});
    return deployment_.Fleetperf(arguments);
  }

  void Stop(Process* process) {
    process->Signal(SIGTERM);
    EXPECT_EQ(process->Wait(), 0);
  }

  Deployment deployment_;
  const TlsFiles operator_ = deployment_.Issue("operator", {"alice"});
};

TEST_F(FleetLife, ForgottenMachineIsInNoListUntilItConnectsAgain) {
  auto aggregator = deployment_.StartAggregator();
  auto agent = deployment_.StartAgent("web-1");
  const auto other = deployment_.StartAgent("web-2");
  deployment_.WaitForSamples("web-1");
  deployment_.WaitForSamples("web-2");

  const Result connected = Forget({"WEB-1"});
  EXPECT_EQ(connected.status, 1);
  EXPECT_THAT(connected.error,
              AllOf(HasSubstr("agent web-1, which collects from web-1, is "
                              "connected from "),
                    HasSubstr("; stop it, or take the machine out of its plan "
                              "and restart it")));

  Stop(agent.get());
  ASSERT_TRUE(AwaitState(deployment_, "web-1", "away"));
  const Result by_reader =
      deployment_.Fleetperf({"machines", "forget", "web-1"});
  EXPECT_EQ(by_reader.status, 1);
  EXPECT_THAT(by_reader.error, HasSubstr("requires the role operator"));
  // All machines or none.
  const Result unknown = Forget({"web-1", "web-9"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.error, HasSubstr("there is no machine \"web-9\""));
  const Result tried = Forget({"web-1", "--dry-run"});
  EXPECT_EQ(tried.status, 0) << tried.error;
  EXPECT_THAT(tried.output, StartsWith("would forget web-1, newest sample of"));
  EXPECT_EQ(StateOf(deployment_, "web-1"), "away");

  const Result forgotten = Forget({"web-1"});
  EXPECT_EQ(forgotten.status, 0) << forgotten.error;
  EXPECT_THAT(forgotten.output, StartsWith("forgot web-1, newest sample of"));
  const auto expect_forgotten = [&] {
    EXPECT_EQ(StateOf(deployment_, "web-1"), "");
    const Result query =
        deployment_.Fleetperf({"query", R"(\\web-1\System\Processes)"});
    EXPECT_EQ(query.status, 2);
    EXPECT_THAT(query.error, HasSubstr("there is no machine \"web-1\""));
    // Machines that stopped sending are reported, but not this one.
    const Result all = deployment_.Fleetperf({"query", R"(\System\Processes)"});
    EXPECT_EQ(all.status, 0) << all.error;
    EXPECT_THAT(all.error, Not(HasSubstr("web-1")));
  };
  expect_forgotten();
  Stop(aggregator.get());
  aggregator = deployment_.StartAggregator();
  ASSERT_TRUE(AwaitState(deployment_, "web-2", "connected"));
  expect_forgotten();

  agent = deployment_.StartAgent("web-1");
  EXPECT_TRUE(AwaitState(deployment_, "web-1", "connected"));
  deployment_.WaitForSamples("web-1");
}

TEST_F(FleetLife, ExpectedMachinesAreMissingUntilTheySendSamples) {
  auto aggregator =
      deployment_.StartAggregator("expected_machines: [WEB-1, web-7]\n");
  EXPECT_EQ(StateOf(deployment_, "web-1"), "missing");
  const Result none = deployment_.Fleetperf({"check", "--missing"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.output,
            "FLEETPERF CRITICAL - 2 of 2 expected machines missing: web-1: has "
            "never sent samples; web-7: has never sent samples | "
            "'missing'=2;;0 'expected'=2\n");

  auto agent = deployment_.StartAgent("web-1");
  deployment_.WaitForSamples("web-1");
  EXPECT_EQ(StateOf(deployment_, "web-1"), "connected");
  EXPECT_EQ(StateOf(deployment_, "web-7"), "missing");
  const Result one = deployment_.Fleetperf({"check", "--missing"});
  EXPECT_EQ(one.status, 2);
  EXPECT_THAT(one.output, HasSubstr("1 of 2 expected machines missing: web-7"));
  const auto status = deployment_.Json({"status"}).front();
  EXPECT_EQ(status["machines"], 1);
  EXPECT_EQ(status["expected_machines"], 2);
  EXPECT_EQ(status["missing_machines"], 1);
  EXPECT_THAT(deployment_.Fleetperf({"status"}).error,
              HasSubstr("Expected machines that are missing: web-7. See"));

  deployment_.WriteAggregatorConfig("expected_machines: web-1\n");
  aggregator->Signal(SIGHUP);
  ASSERT_TRUE(aggregator->WaitForError("changed: expected_machines"))
      << aggregator->error();
  EXPECT_EQ(StateOf(deployment_, "web-7"), "");
  const Result all = deployment_.Fleetperf({"check", "--missing"});
  EXPECT_EQ(all.status, 0);
  EXPECT_EQ(all.output,
            "FLEETPERF OK - all 1 expected machines send samples | "
            "'missing'=0;;0 'expected'=1\n");

  // A machine that has stopped is missing at once in lists, and in checks when
  // its newest sample is too old.
  Stop(agent.get());
  ASSERT_TRUE(AwaitState(deployment_, "web-1", "missing"));
  const Result stopped =
      deployment_.Fleetperf({"check", "--missing", "--stale", "1ms"});
  EXPECT_EQ(stopped.status, 2);
  EXPECT_THAT(stopped.output,
              HasSubstr("expected machines missing: web-1: its newest sample "
                        "is of "));
  const Result forgotten = Forget({"web-1"});
  EXPECT_EQ(forgotten.status, 0) << forgotten.error;
  EXPECT_THAT(forgotten.error,
              HasSubstr("web-1 is still expected: remove it from "
                        "expected_machines"));
  const auto missing = deployment_.Json({"machines"}).front();
  EXPECT_EQ(missing["machine"], "web-1");
  EXPECT_EQ(missing["state"], "missing");
  EXPECT_TRUE(missing["newest_sample"].is_null()) << missing;
}

TEST_F(FleetLife, MachineThatIsAwayIsMissingAlsoIfItsClockWasAhead) {
  const auto aggregator =
      deployment_.StartAggregator("expected_machines: web-1\n");
  {
    FakeAgent agent(deployment_.address(),
                    deployment_.Issue("agent", {"web-1"}),
                    MakeHello("web-1", kEpoch, 1, 1));
    ASSERT_TRUE(agent.Receive().has_value());
    agent.Send(MakeNumberBatch(
        "web-1", kEpoch, 1,
        perflib::PerfTime100NSecFromTime(absl::Now() + absl::Hours(1))));
    ASSERT_TRUE(agent.ReceiveAck(1));
    const Result connected = deployment_.Fleetperf({"check", "--missing"});
    EXPECT_EQ(connected.status, 0) << connected.output;
  }
  ASSERT_TRUE(AwaitState(deployment_, "web-1", "missing"));
  const Result away = deployment_.Fleetperf({"check", "--missing"});
  EXPECT_EQ(away.status, 2);
  EXPECT_THAT(away.output, HasSubstr("web-1: away since its newest sample, "
                                     "which is of "));
}

// The name of the host in a namespace of its own, for processes that the test
// starts. The destructor returns to the host's namespace.
class OwnHostName {
 public:
  OwnHostName()
      : outer_(open("/proc/thread-self/ns/uts", O_RDONLY | O_CLOEXEC)),
        is_own_(outer_ >= 0 && unshare(CLONE_NEWUTS) == 0) {}
  ~OwnHostName() {
    if (is_own_) {
      EXPECT_EQ(setns(outer_, CLONE_NEWUTS), 0);
    }
    if (outer_ >= 0) close(outer_);
  }
  OwnHostName(const OwnHostName&) = delete;
  OwnHostName& operator=(const OwnHostName&) = delete;

  // Returns whether the name could be set, which takes permissions.
  bool Set(const std::string& name) const {
    return is_own_ && sethostname(name.data(), name.size()) == 0;
  }

 private:
  const int outer_;
  const bool is_own_;
};

class AgentOfHost : public FleetLife {
 protected:
  // Writes a configuration without a name, with a certificate for `name`, and
  // starts the agent.
  std::unique_ptr<Process> StartAgentFor(const std::string& name) {
    Deployment::Write(config_,
                      absl::StrCat("aggregators: ['", deployment_.address(),
                                   "']\nstate_directory: state\n",
                                   Deployment::TlsSection(
                                       deployment_.Issue("agent", {name}))));
    return std::make_unique<Process>(std::vector<std::string>{
        Deployment::Executable("fleetperf-agent"), "--config", config_});
  }

  const std::string config_ = deployment_.File("host.yaml");
  OwnHostName host_;
};

// Its agent may start before a machine has its name.
TEST_F(AgentOfHost, WaitsForTheHostsName) {
  if (!host_.Set("localhost")) GTEST_SKIP() << "cannot set a host's name";
  const auto aggregator = deployment_.StartAggregator();
  const auto agent = StartAgentFor("web-1");
  ASSERT_TRUE(agent->WaitForError(
      "the host has no name yet (\"localhost\"): waiting until it has one; to "
      "start now, set \"name\" in the agent's configuration to a name in the "
      "certificate: web-1"));
  EXPECT_THAT(agent->error(), Not(HasSubstr("collecting from")));
  const Result check = RunCommand({Deployment::Executable("fleetperf-agent"),
                                   "check", "--config", config_});
  EXPECT_THAT(check.output, HasSubstr("the host has no name yet"));
  ASSERT_TRUE(host_.Set("web-1"));
  EXPECT_TRUE(agent->WaitForError("collecting from web-1")) << agent->error();
  deployment_.WaitForSamples("web-1");
  EXPECT_EQ(StateOf(deployment_, "localhost"), "");
  Stop(agent.get());
}

TEST_F(AgentOfHost, StopsWhileItWaitsForAName) {
  if (!host_.Set("localhost")) GTEST_SKIP() << "cannot set a host's name";
  const auto aggregator = deployment_.StartAggregator();
  const auto agent = StartAgentFor("web-1");
  ASSERT_TRUE(agent->WaitForError("the host has no name yet"))
      << agent->error();
  Stop(agent.get());
}

// A host may have a name from its image until it gets its own.
TEST_F(AgentOfHost, AdoptsTheNameInItsCertificate) {
  if (!host_.Set("image")) GTEST_SKIP() << "cannot set a host's name";
  const auto aggregator = deployment_.StartAggregator();
  const auto agent = StartAgentFor("web-1");
  ASSERT_TRUE(agent->WaitForError("does not name \"image\""));
  ASSERT_TRUE(host_.Set("web-1"));
  EXPECT_TRUE(agent->WaitForError(
      "the host's name was image, and is web-1, as in the certificate"));
  deployment_.WaitForSamples("web-1");
  Stop(agent.get());
}

// Returns the number of bytes in the directory's files.
uintmax_t BytesIn(const std::string& directory) {
  uintmax_t bytes = 0;
  std::error_code ignored;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(directory, ignored)) {
    if (file.is_regular_file(ignored)) bytes += file.file_size(ignored);
  }
  return bytes;
}

// Two real agents: the second one has a copy of the first one's certificate and
// state, with samples of the first one's process, and takes its place.
TEST_F(FleetLife, NamesAMachineAndItsCloneUntilTheCloneStops) {
  auto aggregator = deployment_.StartAggregator();
  const std::string settings = "delivery: {batch_period: 0s}\n";
  const auto first = deployment_.StartAgent("box", settings);
  deployment_.WaitForSamples("box");
  Stop(aggregator.get());
  ASSERT_TRUE(first->WaitForError("; trying again")) << first->error();
  const std::string state = deployment_.File("state-box");
  const std::string copy = deployment_.File("state-clone");
  // The spool saves the samples that it cannot send.
  const uintmax_t before = BytesIn(state);
  const absl::Time deadline = absl::Now() + kPatience;
  while (BytesIn(state) < before + 100'000 && absl::Now() < deadline) {
    std::this_thread::yield();
  }
  std::filesystem::copy(state, copy, std::filesystem::copy_options::recursive);
  aggregator = deployment_.StartAggregator();
  ASSERT_TRUE(first->WaitForError("connected to the aggregator", 2));

  const auto config = ReadFile(deployment_.File("box.yaml"));
  ASSERT_TRUE(config.ok());
  Deployment::Write(
      deployment_.File("clone.yaml"),
      absl::StrReplaceAll(*config, {{"state-box", "state-clone"}}));
  Process clone({Deployment::Executable("fleetperf-agent"), "--config",
                 deployment_.File("clone.yaml")});
  EXPECT_TRUE(clone.WaitForError("connected to the aggregator"))
      << clone.error();
  EXPECT_TRUE(first->WaitForError("another agent named \"box\" is connected"))
      << first->error();
  EXPECT_TRUE(aggregator->WaitForError("two agents are named \"box\""))
      << aggregator->error();
  EXPECT_THAT(aggregator->error(), HasSubstr("and replaces it"));
  EXPECT_THAT(
      std::string(deployment_.Json({"machines"})[0]["name_conflict"]),
      ContainsRegex("connected from .*:[0-9]+, another one from .*:[0-9]+"));
  EXPECT_EQ(deployment_.Json({"status"})[0]["name_conflicts"], 1);

  Stop(&clone);
  ASSERT_TRUE(first->WaitForError("connected to the aggregator", 3));
  EXPECT_TRUE(deployment_.Json({"machines"})[0]["name_conflict"].is_null());
  EXPECT_EQ(deployment_.Json({"status"})[0]["name_conflicts"], 0);
  Stop(first.get());
}

// An agent may collect from the machine of the aggregator, too.
TEST_F(FleetLife, MachineOfTheAggregatorsOwnCountersIsNotForgotten) {
  const auto aggregator = deployment_.StartAggregator("name: Central\n");
  auto agent = deployment_.StartAgent("central");
  deployment_.WaitForSamples("central");
  Stop(agent.get());
  ASSERT_TRUE(AwaitState(deployment_, "central", "away"));
  const Result refused = Forget({"CENTRAL"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error,
              HasSubstr("central is the machine of the aggregator's own "
                        "counters, which would be hidden"));
  EXPECT_EQ(StateOf(deployment_, "central"), "away");
}

// Returns the number of lines that name the machine.
int RowsOf(const Process& watch, const std::string& machine) {
  int lines = 0;
  for (const absl::string_view line : absl::StrSplit(watch.output(), '\n')) {
    lines += absl::StrContains(line, machine);
  }
  return lines;
}

TEST_F(FleetLife, LabelsOfTheConfigurationChangeWithoutARestart) {
  const std::string plan = R"(
plans:
  - name: canary
    labels: {role: canary}
    queries: [{counterset: System}, {counterset: Memory}]
)";
  auto aggregator = deployment_.StartAggregator(plan + R"(
machine_labels:
  - machines: WEB-2
    labels: {role: db}
)");
  constexpr char kSystem[] = "queries: [{counterset: System}]\n";
  const std::string path = R"(\System\Processes)";
  const auto web1 = deployment_.StartAgent(
      "web-1", absl::StrCat("labels: {role: web, owner: bob}\n", kSystem));
  const auto web2 = deployment_.StartAgent("web-2", kSystem);
  const auto web3 = deployment_.StartAgent(
      "web-3", absl::StrCat("labels: {role: db}\n", kSystem));
  for (const std::string name : {"web-1", "web-2", "web-3"}) {
    deployment_.WaitForSamples(name);
  }
  const auto machines_of = [&](const std::string& role) {
    std::set<std::string> names;
    for (const auto& line :
         deployment_.Json({"query", path, "--since", "1h", "--label",
                           absl::StrCat("role=", role)})) {
      names.insert(line["machine"]);
    }
    return names;
  };
  EXPECT_THAT(machines_of("web"), ElementsAre("web-1"));
  EXPECT_THAT(machines_of("db"), ElementsAre("web-2", "web-3"));
  const auto watch = deployment_.StartFleetperf(
      {"watch", path, "--label", "role=web", "--format", "json"});
  ASSERT_TRUE(watch->WaitForOutput("web-1", 2)) << watch->error();
  EXPECT_EQ(RowsOf(*watch, "web-2"), 0);

  deployment_.WriteAggregatorConfig(plan + R"(
machine_labels:
  - machines: web-?
    labels: {owner: "", rack: a1}
  - machines: web-1
    labels: {role: canary}
  - machines: web-2
    labels: {role: web}
)");
  aggregator->Signal(SIGHUP);
  ASSERT_TRUE(aggregator->WaitForError("changed: machine_labels"))
      << aggregator->error();
  for (const auto& machine : deployment_.Json({"machines"})) {
    if (machine["machine"] != "web-1") continue;
    EXPECT_EQ(machine["labels"],
              nlohmann::json({{"rack", "a1"}, {"role", "canary"}}));
  }
  EXPECT_THAT(machines_of("canary"), ElementsAre("web-1"));
  EXPECT_THAT(machines_of("web"), ElementsAre("web-2"));
  // The machines have the end of the window in common, so that one that was
  // started last may have no samples in it yet.
  std::set<std::string> roles;
  const absl::Time deadline = absl::Now() + kPatience;
  do {
    roles.clear();
    for (const auto& group :
         deployment_.Json({"query", path, "--since", "1h", "--agg", "avg",
                           "--by", "label:role"})) {
      roles.insert(group["labels"]["role"]);
    }
  } while (roles.size() < 3 && absl::Now() < deadline);
  EXPECT_THAT(roles, ElementsAre("canary", "db", "web"));
  // The plan reaches the agent, and the subscription selects again.
  EXPECT_TRUE(deployment_.WaitForAnswer(R"(\\web-1\Memory\Available Bytes)"));
  ASSERT_TRUE(watch->WaitForOutput("web-2", 3)) << watch->error();

  // An agent that connects again with another label of its own.
  deployment_.WriteAgentConfig("web-3", {},
                               absl::StrCat("labels: {role: web}\n", kSystem));
  web3->Signal(SIGHUP);
  ASSERT_TRUE(watch->WaitForOutput("web-3", 2)) << watch->error();
  // While another machine has three values, web-1 has none.
  bool has_left = false;
  for (int i = 0; i < 10 && !has_left; ++i) {
    const int before = RowsOf(*watch, "web-1");
    ASSERT_TRUE(watch->WaitForOutput("web-2", RowsOf(*watch, "web-2") + 3));
    has_left = RowsOf(*watch, "web-1") == before;
  }
  EXPECT_TRUE(has_left);
}

TEST_F(FleetLife, MachinesTellWhenCertificatesExpire) {
  const auto aggregator = deployment_.StartAggregator();
  // `fleetperf pki issue` makes certificates for a year.
  const absl::Time issued = absl::Now();
  const auto agent = deployment_.StartAgent("web-1");
  deployment_.WaitForSamples("web-1");
  const auto machine = deployment_.Json({"machines"}).front();
  absl::Time expires;
  std::string error;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full,
                              machine["certificate_expires"].get<std::string>(),
                              &expires, &error))
      << machine;
  EXPECT_GT(expires - issued, absl::Hours(24 * 364));
  EXPECT_LT(expires - issued, absl::Hours(24 * 366));
  // Tables show only certificates that expire soon.
  EXPECT_THAT(deployment_.Fleetperf({"machines"}).output,
              Not(HasSubstr("CERTIFICATE")));
}

TEST_F(FleetLife, ChecksWithoutExpectedMachinesAreUnknown) {
  const auto aggregator = deployment_.StartAggregator();
  const Result none = deployment_.Fleetperf({"check", "--missing"});
  EXPECT_EQ(none.status, 3);
  EXPECT_THAT(none.output,
              AllOf(StartsWith("FLEETPERF UNKNOWN - no machine is expected"),
                    HasSubstr("expected_machines")));
  const Result both =
      deployment_.Fleetperf({"check", "--missing", R"(\System\Processes)"});
  EXPECT_EQ(both.status, 3);
  const Result neither = deployment_.Fleetperf({"check"});
  EXPECT_EQ(neither.status, 3);
  EXPECT_THAT(neither.output, HasSubstr("PATH or --missing is required"));
}

TEST_F(FleetLife, ExpectedMachinesHaveNoWildcards) {
  deployment_.WriteAggregatorConfig("expected_machines: ['web-*']\n");
  const Result refused =
      RunCommand({Deployment::Executable("fleetperf-aggregator"), "--config",
                  deployment_.File("aggregator.yaml")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error, HasSubstr("\"web-*\" is not the name of a "
                                       "machine; wildcards are not allowed"));
}

}  // namespace
}  // namespace fleetperf::testing
