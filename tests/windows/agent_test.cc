// Tests of fleetperf-agent.exe under Wine. A scripted DLL provides PerfLib's
// functions; the aggregator runs on Linux.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/os/files.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/ticks.h"
#include "tests/windows/scenarios.h"
#include "tests/windows/v1_scenario.h"
#include "tests/windows/wine_machine.h"

namespace fleetperf::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kAgent[] = FLEETPERF_MINGW "/bin/fleetperf-agent.exe";

class WindowsAgentTest : public ::testing::Test {
 protected:
  WindowsAgentTest() : aggregator_(deployment_.StartAggregator()) {}

  // Copies the DLL to the test's directory and writes its script. Returns the
  // line of the agent's configuration that names the DLL.
  std::string InstallPerfLib(const json& machines) {
    const std::string dll = deployment_.File("perflib.dll");
    std::filesystem::copy_file(
        FLEETPERF_MINGW "/tests/scripted_perflib.dll", dll,
        std::filesystem::copy_options::overwrite_existing);
    Deployment::Write(deployment_.File("perflib.json"),
                      json{{"machines", machines}}.dump());
    return absl::StrCat("perflib_dll: ", dll, "\n");
  }

  std::unique_ptr<Process> Start(const std::string& config) {
    return wine_.Start({kAgent, "--config", config}, log_path());
  }
  std::string log_path() const { return deployment_.File("agent.log"); }
  std::string Log() const { return ReadFile(log_path()).value_or(""); }

  bool WaitForAnswer(const std::string& path) const {
    return deployment_.WaitForAnswer(path);
  }
  bool WaitForLog(const std::string& text) const {
    return WaitFor([&] { return absl::StrContains(Log(), text); });
  }
  static bool WaitFor(const std::function<bool()>& condition) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (absl::Now() < deadline) {
      if (condition()) return true;
    }
    return false;
  }

  // Waits for samples of a gauge of win-1 from ten ticks since `start`, and
  // returns the ticks.
  Ticks AwaitTicks(const std::string& path, absl::Time start) const {
    Ticks ticks;
    WaitFor([&] {
      ticks = ReadStored(deployment_, "win-1", path, start,
                         absl::Now() + absl::Hours(1))
                  .ticks;
      return ticks.size() >= 10;
    });
    return ticks;
  }
  // Waits until the report of win-1's plan names a failing counterset.
  bool WaitForReport(const std::string& counterset) const {
    const std::string text =
        json(absl::StrCat("counterset \"", counterset, "\"")).dump();
    return WaitFor([&] {
      const auto machines =
          deployment_.Json({"machines", "--machine", "win-1", "--verbose"});
      return !machines.empty() &&
             absl::StrContains(machines[0].dump(),
                               text.substr(1, text.size() - 2));
    });
  }

  std::vector<json> Query(const std::string& path) const {
    return deployment_.Json({"query", path, "--since", "1h"});
  }

  Deployment deployment_;
  WineMachine wine_;
  std::unique_ptr<Process> aggregator_;
};

// Covers mutual TLS and an agent that also queries two other machines.
TEST_F(WindowsAgentTest, DeliversCountersFromPerfLib) {
  const std::string dll = InstallPerfLib(
      {{"",
        {{"grows", true},
         {"countersets",
          {ProcessorInformationJson({"0,0", "0,1", "_Total"})}}}},
       {"db1", {{"countersets", {NumbersJson(111)}}}},
       {"db2", {{"countersets", {NumbersJson(222)}}}}});
  const auto agent = Start(deployment_.WriteAgentConfig(
      "win-1", {"db1", "db2"},
      absl::StrCat(dll,
                   "delivery: {batch_period: 1s}\n"
                   "queries:\n"
                   "  - counterset: Processor Information\n"
                   "  - counterset: Numbers\n"
                   "    machines: [db1, db2]\n")));
  ASSERT_TRUE(
      WaitForAnswer("\\\\win-1\\Processor Information(0,0)\\% Processor "
                    "Time"))
      << Log();
  ASSERT_TRUE(WaitForAnswer("\\\\db1\\Numbers\\Number")) << Log();
  ASSERT_TRUE(WaitForAnswer("\\\\db2\\Numbers\\Number")) << Log();

  // Every instance has every counter that Microsoft's sample reads.
  for (const std::string instance : {"0,0", "0,1", "_Total"}) {
    std::map<std::string, double> values;
    const std::string prefix =
        absl::StrCat("\\Processor Information(", instance, ")\\");
    for (const json& line : Query(absl::StrCat("\\\\win-1", prefix, "*"))) {
      const std::string path = line["path"];
      ASSERT_EQ(line["status"], "ok") << line;
      EXPECT_TRUE(absl::StartsWith(path, prefix)) << path;
      values[path.substr(prefix.size())] = line["value"];
    }
    for (const ExpectedCounter& counter : ProcessorInformation()) {
      if (counter.name.empty()) continue;
      ASSERT_TRUE(values.contains(counter.name)) << counter.name;
      // Raw values are whole numbers, so that a rate of events may be off by
      // one per second.
      const bool counts_events = counter.type == "PERF_COUNTER_COUNTER" ||
                                 counter.type == "PERF_COUNTER_BULK_COUNT";
      EXPECT_NEAR(values[counter.name], counter.expected,
                  counts_events ? 1.01 : 1e-4 * (1 + counter.expected))
          << counter.name;
    }
  }
  EXPECT_EQ(Query("\\\\db1\\Numbers\\Number")[0]["value"], 111);
  EXPECT_EQ(Query("\\\\db2\\Numbers\\Number")[0]["value"], 222);

  // The other machines belong to the fleet and are queried through the agent.
  std::map<std::string, std::string> agents;
  for (const json& machine : deployment_.Json({"machines"})) {
    agents[machine["machine"]] = machine["agent"];
  }
  EXPECT_EQ(agents,
            (std::map<std::string, std::string>{
                {"db1", "win-1"}, {"db2", "win-1"}, {"win-1", "win-1"}}));
  EXPECT_THAT(
      deployment_.Fleetperf({"instances", "Processor Information"}).output,
      AllOf(HasSubstr("0,0"), HasSubstr("0,1"), HasSubstr("_Total")));

  agent->Signal(SIGINT);  // Ctrl-C
  EXPECT_EQ(agent->Wait(), 0) << Log();
}

// Covers restarts, twins, and providers that hang, crash and lie beside them.
TEST_F(WindowsAgentTest, DeliversCountersOfV1Providers) {
  // The liars are sound while the agent lists the countersets.
  const int64_t corrupt_after = absl::ToUnixSeconds(absl::Now()) + 30;
  json objects = V1ObjectsJson();
  json hanger = V1Gauge(1000, "Hanger");
  hanger["hangs_from"] = 3;
  json crasher = V1Gauge(1010, "Crasher");
  crasher["crashes_from"] = 5;
  json liar = V1Gauge(1020, "Liar");
  liar["corrupt_after"] = corrupt_after;
  liar["corrupt"] = json::array({{{"offset", 4}, {"value", 0x7FFFFFFF}}});
  json worse_liar = V1Gauge(1030, "Worse Liar");
  worse_liar["corrupt_after"] = corrupt_after;
  worse_liar["corrupt"] = json::array({{{"offset", 0}, {"value", 1}}});
  for (const json& object : {worse_liar, hanger, crasher, liar}) {
    objects.insert(objects.begin(), object);
  }
  const json db1 = {{"v1", json::array({V1ObjectsJson()[0]})}};
  const std::string config = deployment_.WriteAgentConfig(
      "win-1", {"db1"},
      absl::StrCat(InstallPerfLib({{"", {{"v1", objects}}}, {"db1", db1}}),
                   "delivery: {batch_period: 1s}\n"
                   "queries: [{counterset: Memory, machines: [win-1, db1]}, "
                   "{counterset: PhysicalDisk}, "
                   "{counterset: Network Interface}, {counterset: Process}, "
                   "{counterset: Process V2}, {counterset: Hanger}, "
                   "{counterset: Crasher}, {counterset: Liar}, "
                   "{counterset: Worse Liar}]\n"));
  const auto linux_agent =
      deployment_.StartAgent("box", "queries: [{counterset: Memory}]\n");
  const auto value_of = [&](const std::string& path) {
    const auto lines = Query(path);
    return lines.empty() || lines[0]["value"].is_null()
               ? -1.0
               : lines[0]["value"].get<double>();
  };
  for (int start = 0; start < 2; ++start) {
    const absl::Time started = absl::Now();
    const auto agent = Start(config);
    for (const std::string name : {"Hanger", "Crasher", "Liar", "Worse Liar"}) {
      EXPECT_TRUE(WaitForLog(absl::StrCat("counterset \"", name, "\"")))
          << name << "\n"
          << Log();
      EXPECT_TRUE(WaitForReport(name)) << name;
    }
    EXPECT_GE(
        AwaitTicks("\\PhysicalDisk(_Total)\\Disk Bytes/sec", started).size(),
        10);
    // The bad providers have processes of their own now. Each of their reads
    // would cost the others ten seconds.
    const Ticks ticks = AwaitTicks("\\Memory\\Available Bytes", absl::Now());
    EXPECT_GE(ticks.size(), 10);
    for (auto tick = ticks.begin(), before = tick; tick != ticks.end();
         before = tick++) {
      EXPECT_LT((*tick - *before) / 10'000'000, 5);  // seconds
    }
    ASSERT_TRUE(WaitForAnswer("\\\\win-1\\Process(cmd)\\% Processor Time"))
        << Log();
    ASSERT_TRUE(WaitForAnswer("\\\\db1\\Memory\\Available Bytes")) << Log();
    EXPECT_EQ(value_of("\\\\win-1\\Memory\\Available Bytes"), 8e9);
    EXPECT_EQ(value_of("\\\\db1\\Memory\\Available Bytes"), 8e9);
    // Raw values are whole numbers, so that a rate may be off by one.
    EXPECT_NEAR(value_of("\\PhysicalDisk(_Total)\\Disk Bytes/sec"), 5'000, 1);
    EXPECT_NEAR(value_of("\\Network Interface(*)\\Bytes Total/sec"), 70'000, 1);
    std::map<int, double> processes;
    for (const json& line : Query("\\Process V2(cmd:*)\\% Processor Time")) {
      const std::string path = line["path"];
      const int pid = std::stoi(path.substr(path.find(':') + 1));
      if (!line["value"].is_null()) processes[pid] = line["value"];
    }
    EXPECT_NEAR(processes[100], 25, 0.01);
    EXPECT_NEAR(processes[200], 50, 0.01);
    EXPECT_NEAR(processes[300], 10, 0.01);
    EXPECT_NEAR(value_of("\\Process(_Total)\\% Processor Time"), 90, 0.01);
    // One path asks Linux and Windows.
    EXPECT_TRUE(WaitForAnswer("\\\\box\\Memory\\Available Bytes"));
    std::set<std::string> machines;
    for (const json& line : Query("\\Memory\\Available Bytes")) {
      machines.insert(line["machine"]);
    }
    EXPECT_EQ(machines, (std::set<std::string>{"box", "db1", "win-1"}));
    agent->Signal(start == 0 ? SIGKILL : SIGINT);
    agent->Wait();
  }
}

TEST_F(WindowsAgentTest, FailingMachinesDoNotDelayOthers) {
  const std::string dll = InstallPerfLib(
      {{"", {{"countersets", {NumbersJson(1)}}}},
       {"slow", {{"hangs", {"PerfEnumerateCounterSet"}}}},
       {"closed", {{"errors", {{"PerfEnumerateCounterSet", 5}}}}},
       {"stopped",
        {{"errors", {{"PerfOpenQueryHandle", 1753}}},
         {"countersets", {NumbersJson(4)}}}}});
  const auto agent = Start(deployment_.WriteAgentConfig(
      "win-1", {"slow", "closed", "stopped", "absent"},
      absl::StrCat(
          dll,
          "delivery: {batch_period: 1s}\n"
          "queries:\n"
          "  - counterset: Numbers\n"
          "  - counterset: Numbers\n"
          "    machines: [slow, closed, stopped, absent, unnamed]\n")));
  ASSERT_TRUE(WaitForAnswer("\\\\win-1\\Numbers\\Number")) << Log();
  EXPECT_TRUE(WaitForLog("has not answered PerfEnumerateCounterSet within"))
      << Log();
  EXPECT_THAT(
      Log(),
      AllOf(HasSubstr("closed: PerfEnumerateCounterSet of closed: "
                      "ERROR_ACCESS_DENIED (5): add the account"),
            HasSubstr("sc.exe \\\\stopped start RemoteRegistry"),
            HasSubstr("RPC_S_SERVER_UNAVAILABLE (1722): check that the machine "
                      "is up"),
            HasSubstr("the agent's certificate does not name \"unnamed\"")));
  // The ticks of the failing machines are counted as lost.
  for (const std::string name : {"slow", "closed", "stopped", "absent"}) {
    EXPECT_TRUE(WaitFor([&] {
      const auto machines = deployment_.Json({"machines", "--machine", name});
      return machines.size() == 1 && machines[0]["lost_ticks"] != "0";
    })) << name;
  }
  // The working machine has lost nothing.
  const auto machines = deployment_.Json({"machines", "--machine", "win-1"});
  ASSERT_EQ(machines.size(), 1);
  EXPECT_EQ(machines[0]["lost_ticks"], "0");
}

TEST_F(WindowsAgentTest, DropsOnlyMalformedBlocks) {
  // Corrupts dwSize of the first result in the third block.
  json machine = {{"countersets", {NumbersJson(5)}},
                  {"corrupt", {{{"tick", 2}, {"offset", 56}, {"value", 3}}}}};
  const auto agent = Start(deployment_.WriteAgentConfig(
      "win-1", {},
      absl::StrCat(InstallPerfLib({{"", machine}}),
                   "delivery: {batch_period: 1s}\n"
                   "queries: [{counterset: Numbers}]\n")));
  EXPECT_TRUE(WaitForLog("a block of win-1 is malformed")) << Log();
  EXPECT_THAT(Log(), HasSubstr("dwSize"));
  // The following blocks are valid.
  const auto count = [&] {
    return deployment_
        .Json({"query", "\\Numbers\\Number", "--raw", "--since", "1h"})
        .size();
  };
  ASSERT_TRUE(WaitForAnswer("\\Numbers\\Number")) << Log();
  const size_t before = count();
  EXPECT_TRUE(WaitFor([&] { return count() > before + 2; })) << Log();
}

// Covers kills with and without a running aggregator.
TEST_F(WindowsAgentTest, KilledAgentLosesNothingAndRepeatsNothing) {
  const absl::Time start = absl::Now();
  const std::string capture = deployment_.File("capture");
  const std::string config = deployment_.WriteAgentConfig(
      "win-1", {},
      absl::StrCat(InstallPerfLib({{"", {{"countersets", {NumbersJson(7)}}}}}),
                   "capture: {directory: ", capture, "}\n",
                   "delivery: {batch_period: 3s}\n"
                   "queries: [{counterset: Numbers}]\n"));
  const auto has_taken = [&](size_t ticks) {
    return WaitFor([&] { return ReadTaken(capture).size() >= ticks; });
  };
  Ticks interrupted;
  size_t ticks = 0;
  for (int kill = 0; kill < 6; ++kill) {
    const auto agent = Start(config);
    ticks = ReadTaken(capture).size();
    ASSERT_TRUE(has_taken(ticks + 5)) << Log();
    if (kill == 2) {  // the following ticks are in the spool only
      aggregator_->Signal(SIGKILL);
      aggregator_->Wait();
      ASSERT_TRUE(has_taken(ticks + 10)) << Log();
    }
    if (kill == 4) aggregator_ = deployment_.StartAggregator();
    agent->Signal(SIGKILL);
    agent->Wait();
    // The tick in progress may be lost.
    interrupted.merge(ReadNewestTaken(capture));
  }
  const auto agent = Start(config);
  const Ticks taken = ReadTaken(capture);
  ASSERT_GE(taken.size(), 35);
  Stored stored;
  const auto not_excused = [&] {
    stored = ReadStored(deployment_, "win-1", "\\Numbers\\Number",
                        start - absl::Hours(1), absl::Now() + absl::Hours(1));
    Ticks missing = FindMissing(taken, stored);
    for (const int64_t tick : interrupted) missing.erase(tick);
    return missing;
  };
  EXPECT_TRUE(WaitFor([&] { return not_excused().empty(); }))
      << not_excused().size() << " of " << taken.size() << " ticks missing\n"
      << Log();
  EXPECT_TRUE(stored.repeated.empty()) << stored.repeated.size();
  EXPECT_TRUE(stored.lost.empty()) << stored.lost.begin()->first;
}

// Wine implements four of PerfLib's nine functions and has no counters.
TEST_F(WindowsAgentTest, ReportsMissingPerfLibAndStaysConnected) {
  const auto agent = Start(deployment_.WriteAgentConfig("win-1", {}, ""));
  EXPECT_TRUE(
      WaitForLog("PerfEnumerateCounterSet is not supported by this "
                 "Windows"))
      << Log();
  EXPECT_TRUE(WaitFor([&] {
    return absl::StrContains(deployment_.Fleetperf({"machines"}).output,
                             "connected");
  })) << Log();
}

TEST_F(WindowsAgentTest, CheckReportsCountersetsAndProblems) {
  const std::string config = deployment_.WriteAgentConfig(
      "win-1", {"db1"},
      absl::StrCat(InstallPerfLib(
                       {{"",
                         {{"countersets", {ProcessorInformationJson({"0,0"})}},
                          {"v1", json::array({V1Gauge(1000, "Other")})}}}}),
                   "queries:\n"
                   "  - counterset: Processor Information\n"
                   "  - counterset: Procesor Information\n"
                   "  - counterset: Numbers\n"
                   "    machines: [db1]\n"));
  const WineMachine::Output checked =
      wine_.Run({kAgent, "check", "--config", config});
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(
      checked.text,
      AllOf(HasSubstr("as win-1 on Windows"), HasSubstr("for win-1, db1"),
            HasSubstr("Processor Information"),
            HasSubstr("Prozessorinformationen"),
            HasSubstr("missing: Memory. Its V1 provider did not answer"),
            HasSubstr("did you mean \"Processor Information\"?"),
            HasSubstr("PerfEnumerateCounterSet of db1: "
                      "RPC_S_SERVER_UNAVAILABLE (1722)"),
            HasSubstr("2 problems"), Not(HasSubstr("queries[0]"))));
}

// Such a provider prevents the list of all V1 countersets.
TEST_F(WindowsAgentTest, CheckNamesAProviderThatHangs) {
  json objects = V1ObjectsJson();
  json hanger = V1Gauge(1000, "Hanger");
  hanger["hangs_from"] = 0;
  json own = V1Gauge(1010, "My Service");
  objects.insert(objects.begin(), hanger);
  objects.push_back(own);
  const std::string config = deployment_.WriteAgentConfig(
      "win-1", {},
      absl::StrCat(InstallPerfLib({{"", {{"v1", objects}}}}),
                   "queries: [{counterset: Hanger}, {counterset: Memory}, "
                   "{counterset: My Service}]\n"));
  const WineMachine::Output checked =
      wine_.Run({kAgent, "check", "--config", config});
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(
      checked.text,
      AllOf(HasSubstr("PROBLEM  counterset \"Hanger\": the process of V1 "
                      "providers, asked for \"1000\": no answer within 10s"),
            HasSubstr("PhysicalDisk"), Not(HasSubstr("queries[1]")),
            Not(HasSubstr("queries[2]"))));
}

TEST_F(WindowsAgentTest, CommandLineQueriesFromWindows) {
  const auto agent =
      deployment_.StartAgent("box", "queries: [{counterset: System}]\n");
  deployment_.WaitForSamples("box");
  const WineMachine::Output answer = wine_.Run(
      {FLEETPERF_MINGW "/bin/fleetperf.exe", "--config",
       deployment_.File("config.yaml"), "query", "\\\\box\\System\\Processes",
       "--since", "1h", "--format", "json"});
  EXPECT_EQ(answer.status, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("\"status\":\"ok\""));
}

}  // namespace
}  // namespace fleetperf::testing
