// Tests of error messages: a single line that states the next step, and a
// nonzero exit status.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/os/files.h"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Expects that a command failed and printed only one line that contains `text`.
void ExpectMessage(const Result& result, int status, const std::string& text) {
  EXPECT_EQ(result.status, status) << result.error;
  EXPECT_THAT(result.error, HasSubstr(text));
  EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1)
      << result.error;
  EXPECT_THAT(result.output, IsEmpty());
}

Result RunDaemon(const std::string& name, const std::string& config) {
  return RunCommand({Deployment::Executable(name), "--config", config});
}

TEST(Messages, UnknownFlagsAndCommandsGetSuggestions) {
  const std::string fleetperf = Deployment::Executable("fleetperf");
  ExpectMessage(
      RunCommand({fleetperf, "machines", "--fromat", "json"}), 1,
      "unknown flag \"--fromat\"; did you mean \"--format\"? See fleetperf "
      "machines --help");
  ExpectMessage(RunCommand({fleetperf, "qurey"}), 1, "did you mean \"query\"?");
  ExpectMessage(RunCommand({fleetperf}), 1,
                "a command is missing: machines, countersets");
  for (const std::string daemon : {"fleetperf-agent", "fleetperf-aggregator"}) {
    ExpectMessage(RunCommand({Deployment::Executable(daemon), "--confg", "x"}),
                  2, absl::StrCat("See ", daemon, " --help"));
    ExpectMessage(RunCommand({Deployment::Executable(daemon)}), 2, "--config");
  }
}

TEST(Messages, HelpShowsExamples) {
  const std::string fleetperf = Deployment::Executable("fleetperf");
  for (const std::string command :
       {"machines", "countersets", "counters", "instances", "find", "query",
        "plot", "watch", "status", "confirm-clock"}) {
    const Result help = RunCommand({fleetperf, command, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.output, AllOf(HasSubstr("Examples:"),
                                   HasSubstr("fleetperf " + command)));
  }
}

TEST(Messages, ConfigurationErrorsNameFileAndLine) {
  const Deployment deployment;
  const std::string path = deployment.File("agent.yaml");
  ExpectMessage(RunDaemon("fleetperf-agent", path), 1,
                absl::StrCat("cannot read ", path));
  const std::string tls = Deployment::TlsSection(
      {.authority = "a.pem", .certificate = "c.pem", .key = "k.pem"});
  Deployment::Write(path, "aggregators: ['a:1']\nlables: {a: b}\n" + tls);
  ExpectMessage(RunDaemon("fleetperf-agent", path), 1,
                absl::StrCat(path,
                             ":2: unknown key \"lables\"; did you mean "
                             "\"labels\"?"));
  Deployment::Write(path,
                    "aggregators: ['a:1']\nqueries:\n  - counterset: System\n"
                    "    interval: 500ms\n" +
                        tls);
  ExpectMessage(RunDaemon("fleetperf-agent", path), 1,
                absl::StrCat(path,
                             ":4: queries[0].interval: 500ms is too "
                             "short: counters are not meant to be read "
                             "more than once a second"));
  Deployment::Write(path, "aggregators: ['a:1']\n" + tls);
  ExpectMessage(RunDaemon("fleetperf-agent", path), 1,
                absl::StrCat("cannot read ", deployment.File("a.pem")));
  Deployment::Write(path, "listen: [\n");
  ExpectMessage(RunDaemon("fleetperf-aggregator", path), 1,
                absl::StrCat(path, ":"));
  for (const std::string wrong : {"70000", "", "https", "-1", "]"}) {
    Deployment::Write(path, absl::StrCat("listen: '127.0.0.1:", wrong,
                                         "'\nstore: {directory: s}\n", tls));
    ExpectMessage(
        RunDaemon("fleetperf-aggregator", path), 1,
        absl::StrCat(path, ":1: listen: \"127.0.0.1:", wrong, "\" ends in \"",
                     wrong, "\", which is not a port (0 to 65535)"));
  }
  Deployment::Write(path, "aggregators: ['a:99999']\n" + tls);
  ExpectMessage(RunDaemon("fleetperf-agent", path), 1,
                absl::StrCat(path,
                             ":1: aggregators: \"a:99999\" ends in \"99999\", "
                             "which is not a port (1 to 65535)"));
}

bool HasCpuPmu() {
  std::error_code error;
  for (const auto& device : std::filesystem::directory_iterator(
           "/sys/bus/event_source/devices", error)) {
    const std::string name = device.path().filename();
    if (name.starts_with("cpu") || name.starts_with("armv")) return true;
  }
  return error.value() != 0;  // unknown
}

TEST(Messages, CheckSaysWhatRightsAndHardwareDoNotGive) {
  Deployment deployment;
  auto aggregator = deployment.StartAggregator();
  const std::string config = deployment.WriteAgentConfig(
      "box", {},
      "queries: [{counterset: Process V2}, {counterset: RDMA Activity}, "
      "{counterset: Memory}]\n");
  std::vector<std::string> command = {Deployment::Executable("fleetperf-agent"),
                                      "check", "--config", config};
  if (geteuid() == 0) {  // gives up its capabilities
    command.insert(command.begin(),
                   {"setpriv", "--inh-caps=-all", "--bounding-set=-all"});
  }
  const Result result = RunCommand(command);
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(
      result.output,
      AllOf(HasSubstr("limited: Process V2. "),
            HasSubstr("setcap cap_sys_ptrace,cap_dac_read_search"),
            Not(HasSubstr("limited: Memory")), Not(HasSubstr("empty: Memory")),
            Not(HasSubstr("empty: Process V2"))));
  if (!HasCpuPmu()) {
    EXPECT_THAT(result.output,
                HasSubstr("missing: Hardware Counters. instructions: this "
                          "machine has no hardware PMU"));
  }
  if (!std::filesystem::exists("/sys/class/infiniband")) {
    EXPECT_THAT(
        result.output,
        HasSubstr("empty: RDMA Activity. box has no values of it at present"));
  }
}

TEST(Messages, CheckNamesFilesThatTheMachineLacks) {
  Deployment deployment;
  auto aggregator = deployment.StartAggregator();
  const std::string root = deployment.File("root");
  std::filesystem::create_directories(root + "/proc");
  Deployment::Write(root + "/proc/stat", "cpu  1 0 0 1\ncpu0 1 0 0 1\n");
  Deployment::Write(root + "/proc/meminfo", "MemTotal: 1000 kB\n");
  const std::string config = deployment.WriteAgentConfig(
      "box", {},
      absl::StrCat("root: ", root, "\nqueries: [{counterset: Memory}]\n"));
  const Result result = RunCommand(
      {Deployment::Executable("fleetperf-agent"), "check", "--config", config});
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr(absl::StrCat("limited: Memory. cannot read ", root,
                                     "/proc/vmstat: ")));
}

TEST(Messages, CheckReportsCountersetsAndProblems) {
  Deployment deployment;
  auto aggregator = deployment.StartAggregator();
  const auto check = [&](const std::string& config,
                         const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {
        Deployment::Executable("fleetperf-agent"), "check", "--config", config};
    command.insert(command.end(), more.begin(), more.end());
    return RunCommand(command);
  };
  const std::string good = deployment.WriteAgentConfig(
      "box", {"db1"}, "queries: [{counterset: System}]\n");
  const Result fine = check(good);
  EXPECT_EQ(fine.status, 0) << fine.output;
  EXPECT_THAT(
      fine.output,
      AllOf(HasSubstr("as box on Linux"), HasSubstr("for box, db1"),
            HasSubstr("Processor Information"), Not(HasSubstr("PROBLEM"))));

  // The certificate does not name the machine. The suggested command keeps the
  // certificate's other names.
  const Result other = check(good, {"--name", "web-1"});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.output,
              HasSubstr("does not name \"web-1\"; issue one with: fleetperf "
                        "pki issue agent web-1 box db1"));

  const Result elsewhere =
      check(deployment.WriteAgentConfig("box", {}, "root: /missing\n"));
  EXPECT_EQ(elsewhere.status, 1);
  EXPECT_THAT(elsewhere.output,
              HasSubstr("cannot read /missing/proc/stat; \"root\" must be a "
                        "directory where"));

  // The defaults include the agent's own counters.
  const Result usual = check(deployment.WriteAgentConfig("box", {}, ""));
  EXPECT_EQ(usual.status, 0) << usual.output;
  EXPECT_THAT(usual.output,
              AllOf(HasSubstr("fleetperf Agent"), Not(HasSubstr("PROBLEM"))));

  const Result bad = check(deployment.WriteAgentConfig(
      "box", {},
      "queries:\n"
      "  - counterset: Sistem\n"
      "  - {counterset: System, machines: [BOX]}\n"
      "  - {counterset: System, machines: [db2]}\n"));
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.output,
              AllOf(HasSubstr("queries[0]: there is no counterset \"Sistem\"; "
                              "did you mean \"System\"?"),
                    HasSubstr("an agent on Linux cannot query db2"),
                    Not(HasSubstr("queries[1]"))));

  // The directory cannot be created below a file.
  Deployment::Write(deployment.File("file"), "");
  const std::string unwritable = deployment.WriteAgentConfig(
      "box", {}, "queries: [{counterset: System}]\n");
  std::string text = *ReadFile(unwritable);
  absl::StrReplaceAll({{"state-box", "file/state"}}, &text);
  Deployment::Write(unwritable, text);
  const Result no_state = check(unwritable);
  EXPECT_EQ(no_state.status, 1);
  EXPECT_THAT(no_state.output,
              AllOf(HasSubstr("reached"), HasSubstr("PROBLEM  cannot make"),
                    HasSubstr(deployment.File("file/state"))));

  aggregator = nullptr;
  const Result unreachable = check(good);
  EXPECT_EQ(unreachable.status, 1);
  EXPECT_THAT(unreachable.output,
              HasSubstr(absl::StrCat("PROBLEM  cannot reach the aggregator at ",
                                     deployment.address(), ": nothing ")));
}

// The commands that messages advise would refuse these names.
TEST(Messages, AdviceIsWithinTheRulesOfItsCommands) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  ExpectMessage(
      deployment.Fleetperf({"machines", "--aggregator", "https://agg:7443"}), 1,
      "\"https://agg:7443\" is a URL; write it without \"https://\"");
  const std::string config = deployment.WriteAgentConfig(
      "box", {}, "queries: [{counterset: System}]\n");
  const std::string name = "M\u00FCller-PC";
  const Result check =
      RunCommand({Deployment::Executable("fleetperf-agent"), "check",
                  "--config", config, "--name", name});
  EXPECT_EQ(check.status, 1);
  EXPECT_THAT(check.output,
              AllOf(HasSubstr(absl::StrCat(
                        "\"", name, "\" is not allowed in a certificate")),
                    HasSubstr("another name with \"name\""),
                    Not(HasSubstr("pki issue"))));
  const Result issue =
      RunCommand({Deployment::Executable("fleetperf"), "pki", "issue", "agent",
                  name, "--directory", deployment.directory()});
  ExpectMessage(issue, 1, "is not allowed in a certificate");
}

TEST(Messages, PortInUseIsNamed) {
  Deployment deployment;
  const auto first = deployment.StartAggregator();
  Deployment other;
  const std::string path = other.File("other.yaml");
  Deployment::Write(
      path,
      absl::StrCat("listen: ", deployment.address(),
                   "\nstore: {directory: store}\n",
                   Deployment::TlsSection(
                       {.authority = other.File("authority.pem"),
                        .certificate = other.File("aggregator-localhost.pem"),
                        .key = other.File("aggregator-localhost.key")})));
  const Result second = RunDaemon("fleetperf-aggregator", path);
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.error,
              AllOf(HasSubstr("cannot listen on " + deployment.address()),
                    HasSubstr("in use")));
}

TEST(Messages, UnreachableAggregatorIsNamed) {
  Deployment deployment;
  { const auto aggregator = deployment.StartAggregator(); }
  ExpectMessage(
      deployment.Fleetperf({"machines"}), 1,
      absl::StrCat("cannot reach the aggregator at ", deployment.address()));
  ExpectMessage(RunCommand({Deployment::Executable("fleetperf"), "machines"},
                           {{"FLEETPERF_CONFIG", "/nowhere.yaml"}}),
                1, "FLEETPERF_CONFIG names /nowhere.yaml");
}

TEST(Messages, UnknownNamesGetSuggestions) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  ExpectMessage(deployment.Fleetperf({"machines"}), 1,
                "no agent has connected yet");
  ExpectMessage(deployment.Fleetperf({"query", "\\System\\Processes"}), 2,
                "no agent has sent any samples yet");
  const auto agent = deployment.StartAgent("box");
  deployment.WaitForSamples("box");
  const auto query = [&](const std::string& path) {
    return deployment.Fleetperf({"query", path, "--since", "1h"});
  };
  ExpectMessage(query("\\Memroy\\Available Bytes"), 2,
                "there is no counterset \"Memroy\"; did you mean "
                "\"Memory\"?");
  ExpectMessage(query("\\Memory\\Availible Bytes"), 2,
                "did you mean \"Available Bytes\"");
  ExpectMessage(query("\\\\bix\\Memory\\Available Bytes"), 2,
                "there is no machine \"bix\"; did you mean \"box\"?");
  ExpectMessage(query("\\Process V2(kthreadx:2)\\Thread Count"), 2,
                "there was no instance \"kthreadx:2\"");
  ExpectMessage(query("\\Memory(*)\\Available Bytes"), 2, "has no instances");
  ExpectMessage(query("Memory"), 1, "at character 1 of the path: expected");
  ExpectMessage(query("Memory\\Available Bytes"), 1,
                "write it in single quotes, as in "
                "'\\\\web-1\\System\\Processes'");
  ExpectMessage(query("\\box\\Memory\\Available Bytes"), 2,
                "the shell may have changed the path");
  ExpectMessage(deployment.Fleetperf({"counters", "Sistem"}), 2,
                "did you mean \"System\"?");
  ExpectMessage(deployment.Fleetperf({"query", "\\System\\Processes", "--from",
                                      "2001-01-01", "--to", "2001-01-02"}),
                2,
                "there are no samples in this time; the oldest sample after it "
                "is of 20");
  ExpectMessage(deployment.Fleetperf(
                    {"query", "\\System\\Processes", "--since", "yesterday"}),
                1, "--since: \"yesterday\" is not a duration");
}

TEST(Messages, ListsDescribeMachine) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box", "labels: {role: test}\n");
  deployment.WaitForSamples("box");
  EXPECT_THAT(deployment.Fleetperf({"machines"}).output,
              AllOf(HasSubstr("box"), HasSubstr("connected"),
                    HasSubstr("Linux"), HasSubstr("role=test")));
  EXPECT_THAT(deployment.Fleetperf({"countersets"}).output,
              AllOf(HasSubstr("Processor Information"), HasSubstr("Memory"),
                    HasSubstr("Process V2")));
  // Units of tables are those of values.
  EXPECT_THAT(deployment.Fleetperf({"counters", "System"}).output,
              AllOf(ContainsRegex("Context Switches/sec +0  /s .*"
                                  "PERF_COUNTER_COUNTER"),
                    Not(HasSubstr(" 1/s"))));
  EXPECT_THAT(deployment.Fleetperf({"find", "context switches"}).output,
              AllOf(HasSubstr("  /s "), Not(HasSubstr(" 1/s"))));
  // A rate needs two samples.
  deployment.Fleetperf(
      {"watch", "\\System\\Context Switches/sec", "--count", "2"});
  EXPECT_THAT(
      deployment.Fleetperf({"explain", "\\System\\Context Switches/sec"})
          .output,
      ContainsRegex("result +[0-9.]+ /s\n"));
  EXPECT_THAT(
      deployment.Fleetperf({"instances", "Processor Information"}).output,
      AllOf(HasSubstr("0,0"), HasSubstr("_Total")));
  EXPECT_THAT(deployment
                  .Fleetperf({"query", "\\System\\Processes", "--since", "1h",
                              "--format", "csv"})
                  .output,
              HasSubstr("machine,path,time,value,status,unit"));
}

}  // namespace
}  // namespace fleetperf::testing
