// Tests of what commands print: tables at every width, dead machines, errors of
// the output, and verdicts for monitoring systems.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/os/clock.h"
#include "base/text/units.h"
#include "perflib/clocks.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kNumber[] = "\\Numbers\\Number";

// An aggregator with a machine whose ticks ended three minutes ago.
class Output : public ::testing::Test {
 protected:
  Output() : aggregator_(deployment_.StartAggregator()) {
    FakeAgent agent(deployment_.address(), deployment_.Issue("agent", {"box"}),
                    MakeHello("box", kEpoch, 1, 0));
    EXPECT_TRUE(agent.Receive()->has_welcome());
    const int64_t start = perflib::PerfTime100NSecFromTime(Clock::Real().Now() -
                                                           absl::Minutes(3));
    for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
      EXPECT_TRUE(agent.Send(MakeNumberBatch("box", kEpoch, sequence, start)));
      EXPECT_TRUE(agent.ReceiveAck(sequence));
    }
  }

  Result Shell(
      const std::string& arguments,
      const std::map<std::string, std::string>& environment = {}) const {
    return deployment_.Shell(arguments, environment);
  }
  Result InTerminal(
      const std::string& arguments, int columns,
      const std::map<std::string, std::string>& environment = {}) const {
    return deployment_.InTerminal(arguments, columns, environment);
  }

  Deployment deployment_;
  std::unique_ptr<Process> aggregator_;
};

TEST_F(Output, TableSaysWhatItsValuesAreAndHowOld) {
  // The mean of 1, 2, 3, 4 and 5.
  const Result result = Shell("query '\\Numbers\\Number'");
  const std::vector<std::string> lines = LinesOf(result.output);
  ASSERT_THAT(lines, SizeIs(3)) << result.error;
  EXPECT_EQ(lines[0], "mean of the last 5m");
  EXPECT_EQ(lines[1].substr(0, 31), "MACHINE  COUNTER          VALUE");
  EXPECT_THAT(lines[2], ContainsRegex("box +.Numbers.Number +3  [0-9:]+Z, "
                                      "[23]m[0-9]+s old"));
  const auto json = deployment_.Json({"query", kNumber});
  ASSERT_THAT(json, SizeIs(1));
  const auto raw = deployment_.Json({"query", kNumber, "--raw"});
  ASSERT_THAT(raw, SizeIs(5));
  EXPECT_EQ(json[0].at("newest_sample"), raw[4].at("time"));
  EXPECT_EQ(raw[4].at("value"), "5");
  // The end is not later than the newest sample.
  const std::string end = raw[4].at("time").get<std::string>();
  const auto until =
      deployment_.Json({"query", kNumber, "--since", "1m", "--to", end});
  ASSERT_THAT(until, SizeIs(1));
  EXPECT_FALSE(until[0].contains("newest_sample"));
  // An age is that of now, not that of the end.
  const absl::Time later = TimeOf(raw[4]) + absl::Seconds(20);
  EXPECT_THAT(Shell(absl::StrCat("query '\\Numbers\\Number' --since 1m --to ",
                                 FormatUtc(later)))
                  .output,
              ContainsRegex("[0-9:]+Z, [23]m[0-9]+s old"));
}

TEST_F(Output, WatchMarksDeadMachine) {
  const auto watch = deployment_.StartFleetperf({"watch", kNumber});
  ASSERT_TRUE(watch->WaitForOutput(" old"));
  EXPECT_THAT(watch->output(), ContainsRegex("Z, [23]m[0-9]+s old"));
}

TEST_F(Output, WatchMarksMachineThatDies) {
  FakeAgent agent(deployment_.address(), deployment_.Issue("agent", {"web"}),
                  MakeHello("web", kEpoch, 1, 0));
  ASSERT_TRUE(agent.Receive()->has_welcome());
  const int64_t start =
      perflib::PerfTime100NSecFromTime(Clock::Real().Now() - absl::Seconds(3));
  const auto send = [&](uint64_t sequence) {
    return agent.Send(MakeNumberBatch("web", kEpoch, sequence, start)) &&
           agent.ReceiveAck(sequence);
  };
  ASSERT_TRUE(send(1));
  const auto watch =
      deployment_.StartFleetperf({"watch", "\\\\web\\Numbers\\Number"});
  ASSERT_TRUE(watch->WaitForOutput("Number"));
  ASSERT_TRUE(send(2));
  ASSERT_TRUE(send(3));
  // No further value arrives, but a table that says so.
  EXPECT_TRUE(watch->WaitForOutput(" old")) << watch->output();
}

TEST_F(Output, MachineThatStoppedBeforeTheTimeIsNamed) {
  FakeAgent agent(deployment_.address(), deployment_.Issue("agent", {"web"}),
                  MakeHello("web", kEpoch, 1, 0));
  ASSERT_TRUE(agent.Receive()->has_welcome());
  ASSERT_TRUE(agent.Send(
      MakeNumberBatch("web", kEpoch, 1,
                      perflib::PerfTime100NSecFromTime(Clock::Real().Now()))));
  ASSERT_TRUE(agent.ReceiveAck(1));
  const std::string newest =
      deployment_.Json({"query", "\\\\box\\Numbers\\Number"})[0].at(
          "newest_sample");

  const Result query = Shell("query '\\Numbers\\Number' --since 1m");
  EXPECT_EQ(query.status, 0);
  EXPECT_THAT(query.output, AllOf(HasSubstr("web"), Not(HasSubstr("box"))));
  EXPECT_THAT(query.error,
              ContainsRegex("^fleetperf: no samples of box in this time: its "
                            "newest is of [0-9:]+Z, [23]m[0-9]+s old\n$"));
  const auto json = deployment_.Json({"query", kNumber, "--since", "1m"});
  ASSERT_THAT(json, SizeIs(2));
  EXPECT_EQ(json[0].at("machine"), "web");
  EXPECT_EQ(json[1], nlohmann::json({{"machine", "box"},
                                     {"value", nullptr},
                                     {"status", "silent"},
                                     {"newest_sample", newest}}));

  const Result check = Shell("check '\\Numbers\\Number' --since 1m");
  EXPECT_EQ(check.status, 3);
  EXPECT_THAT(check.output,
              StartsWith("FLEETPERF UNKNOWN - no samples of box in this time"));
  EXPECT_EQ(Shell("check '\\Numbers\\Number' --since 1m --stale 1h").status, 0);
}

// Sums and counts leave out their samples, which are of another time.
TEST(Clocks, WrongOnesAreNamedWithHowFar) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  std::vector<std::unique_ptr<FakeAgent>> agents;
  const auto connect = [&](const std::string& name, absl::Duration ahead) {
    agents.push_back(std::make_unique<FakeAgent>(
        deployment.address(), deployment.Issue("agent", {name}),
        MakeHello(name, kEpoch, 1, 0)));
    FakeAgent& agent = *agents.back();
    ASSERT_TRUE(agent.Receive()->has_welcome());
    const absl::Time start = Clock::Real().Now() + ahead;
    ASSERT_TRUE(agent.Send(MakeNumberBatch(
        name, kEpoch, 1, perflib::PerfTime100NSecFromTime(start))));
    ASSERT_TRUE(agent.ReceiveAck(1));
  };
  connect("fast", absl::Hours(2));
  connect("right", -absl::Seconds(1));
  connect("slow", -absl::Hours(1));
  connect("exact", -absl::Seconds(1));
  // Longer than a machine that stopped is missed.
  connect("slower", -absl::Hours(24 * 8));
  const std::vector<std::string> count = {"query", kNumber, "--since",
                                          "5m",    "--agg", "count"};
  const Result table = deployment.Fleetperf(count);
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(
      table.error,
      AllOf(ContainsRegex("no samples of fast in this time: its newest is of "
                          ".*, since its clock is (2h|1h59m).* ahead of the "
                          "other machines' clocks; set it\n"),
            ContainsRegex("no samples of slow in this time: its newest is of "
                          ".*, since its clock is (1h|59m).* behind the other "
                          "machines' clocks; set it, unless "),
            ContainsRegex("no samples of slower in this time: its newest is of "
                          ".*, since its clock is (192h|191h59m).* behind the "
                          "other machines' clocks; set it, unless "),
            Not(HasSubstr("right"))));
  std::map<std::string, double> skews;
  for (const auto& line : deployment.Json(count)) {
    if (line.at("status") == "silent") {
      skews[line.at("machine")] = line.at("clock_skew_seconds");
    }
  }
  EXPECT_THAT(skews,
              ElementsAre(Pair("fast", Gt(7000)), Pair("slow", Lt(-3500)),
                          Pair("slower", Lt(-8 * 24 * 3600 + 100))));
}

TEST_F(Output, LocalTimesAreInEachFormat) {
  const auto raw = deployment_.Json({"query", kNumber, "--raw"});
  ASSERT_THAT(raw, SizeIs(5));
  absl::Time newest;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full,
                              raw[4].at("time").get<std::string>(), &newest,
                              nullptr));
  const auto local = [](const char* format, absl::Time time) {
    return absl::FormatTime(format, time,
                            absl::FixedTimeZone((5 * 60 + 45) * 60));
  };
  const auto ask = [&](const std::string& arguments) {
    const Result result =
        Shell(absl::StrCat(arguments, " '\\Numbers\\Number' --local"),
              {{"TZ", "XYZ-5:45"}});
    EXPECT_EQ(result.status, 0) << result.error;
    return result.output;
  };
  EXPECT_THAT(ask("query"), HasSubstr(local("%H:%M:%S+05:45, ", newest)));
  EXPECT_THAT(ask("query --step 1s --format json"),
              HasSubstr(local("%Y-%m-%dT%H:%M:%E*S+05:45", newest)));
  EXPECT_THAT(ask("query --step 1s --format csv"),
              HasSubstr(local("%Y-%m-%d %H:%M:%E3S", newest)));
  const std::string pdh = ask("query --step 1s --format pdh-csv");
  EXPECT_THAT(pdh, StartsWith("\"(PDH-CSV 4.0) (XYZ)(-345)\","));
  EXPECT_THAT(pdh,
              HasSubstr(local("%m/%d/%Y %H:%M:", newest + absl::Seconds(1))));
  const std::string at = " --at " + local("%Y-%m-%dT%H:%M:%E*S+05:45", newest);
  for (const std::string other :
       {"query --step 1s --pivot --format csv", "query --raw --format csv",
        "watch --count 1 --format csv"}) {
    EXPECT_THAT(ask(other), HasSubstr(local("%Y-%m-%d %H:%M:%E3S", newest)))
        << other;
  }
  for (const std::string& other : std::vector<std::string>{
           "query --raw --format json", "explain --format json" + at,
           "explain" + at, "watch --count 1 --format json"}) {
    EXPECT_THAT(ask(other),
                HasSubstr(local("%Y-%m-%dT%H:%M:%E*S+05:45", newest)))
        << other;
  }
  EXPECT_THAT(ask("watch --count 1 --format pdh-csv"),
              StartsWith("\"(PDH-CSV 4.0) (XYZ)(-345)\","));
  EXPECT_THAT(ask("watch --count 1"),
              HasSubstr(local("%H:%M:%S+05:45, ", newest)));
  EXPECT_THAT(InTerminal("plot '\\Numbers\\Number' --step 1s --local", 120,
                         {{"TZ", "XYZ-5:45"}})
                  .output,
              ContainsRegex("to 20[^ ]*[+]05:45"));
  // Times are read in the zone, too.
  EXPECT_THAT(ask("query --format json --from " +
                  local("%Y-%m-%dT%H:%M:%S", newest - absl::Seconds(1))),
              HasSubstr("\"value\""));

  const std::map<std::string, std::string> misspelt = {{"TZ", "Europe/Berln"}};
  const Result refused = Shell("query '\\Numbers\\Number' --local", misspelt);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error, HasSubstr("there is no zone \"Europe/Berln\""));
  const Result check = Shell("check '\\Numbers\\Number' --local", misspelt);
  EXPECT_EQ(check.status, 3);
  EXPECT_THAT(check.output, StartsWith("FLEETPERF UNKNOWN - --local: "));
}

TEST_F(Output, PdhCsvHasThePartialWindowAfterTheWholeOnes) {
  const auto raw = deployment_.Json({"query", kNumber, "--raw"});
  ASSERT_THAT(raw, SizeIs(5));
  const std::string end = raw[4].at("time");
  absl::Time newest;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, end, &newest, nullptr));
  // A window of 7 s with 1 and 2, and the next 3 s with 3, 4 and 5.
  const std::string query = absl::StrCat(
      "query '\\Numbers\\Number' --step 7s --format pdh-csv --to ", end,
      " --from ",
      absl::FormatTime(absl::RFC3339_full, newest - absl::Seconds(10),
                       absl::UTCTimeZone()));
  const std::vector<std::string> lines = LinesOf(Shell(query).output);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[1], EndsWith(",\"1.5\""));
  EXPECT_THAT(lines[2], EndsWith(",\"4\""));
}

TEST_F(Output, PivotHasCountersAsColumns) {
  for (const int columns : {60, 80, 120, 200}) {
    const Result result = InTerminal("query '\\Numbers\\*' --pivot", columns);
    EXPECT_EQ(result.status, 0);
    const std::vector<std::string> lines = LinesOf(result.output);
    ASSERT_THAT(lines, SizeIs(3)) << result.output;
    EXPECT_THAT(lines[1], StartsWith("MACHINE  NUMBER  "));
    EXPECT_THAT(lines[2], ContainsRegex("^box +3 .* old"));
    for (const std::string& line : lines) EXPECT_LE(WidthOf(line), columns);
  }
  const std::vector<std::string> csv = LinesOf(
      Shell("query '\\Numbers\\*' --pivot --step 1s --format csv").output);
  ASSERT_THAT(csv, SizeIs(7));  // the last one is the partial window
  EXPECT_THAT(csv[0], StartsWith("time,machine,instance,Number,"));
  EXPECT_THAT(csv[5], HasSubstr(",box,,5"));
  EXPECT_THAT(Shell("watch '\\Numbers\\*' --pivot --count 1").output,
              ContainsRegex("MACHINE  NUMBER .*\nbox +5 "));
  for (const std::string command :
       {"query --format json", "query --raw", "watch --format csv"}) {
    const Result result = Shell(command + " --pivot '\\Numbers\\Number'");
    EXPECT_EQ(result.status, 1) << command;
    EXPECT_THAT(result.output, IsEmpty());
  }
}

TEST_F(Output, TablesFitTerminalUnlessWide) {
  const auto raw = deployment_.Json({"query", kNumber, "--raw"});
  ASSERT_THAT(raw, SizeIs(5));
  const std::string newest = raw[4].at("time");
  for (const std::string& command : std::vector<std::string>{
           "query '\\Numbers\\Number'", "query '\\Numbers\\Number' --step 1s",
           "query '\\Numbers\\Number' --step 1s --top 1", "machines", "status",
           "countersets", "counters Numbers", "find number",
           "explain '\\Numbers\\Number' --at " + newest}) {
    for (const int columns : {60, 80, 120, 200}) {
      SCOPED_TRACE(absl::StrCat(command, " in ", columns));
      const Result result = InTerminal(command, columns);
      EXPECT_EQ(result.status, 0) << result.output;
      for (const std::string& line : LinesOf(result.output)) {
        EXPECT_LE(WidthOf(line), columns) << line;
      }
    }
  }
  const std::string narrow = InTerminal("query '\\Numbers\\Number'", 40).output;
  EXPECT_THAT(narrow,
              AllOf(HasSubstr("\\Numbers\\Number\r\n"), HasSubstr("VALUE"),
                    HasSubstr(" old"), HasSubstr("COVERED")));
  const std::string wide =
      InTerminal("query '\\Numbers\\Number' --wide", 20).output;
  EXPECT_THAT(wide, ContainsRegex("box +.Numbers.Number +3  .* old"));
}

TEST_F(Output, DumbTerminalGetsNoEscapeSequences) {
  const std::string plot = "plot '\\Numbers\\Number' --step 1s";
  EXPECT_THAT(InTerminal(plot, 80).output, HasSubstr("\x1b["));
  EXPECT_THAT(InTerminal(plot, 80, {{"NO_COLOR", "1"}}).output,
              Not(HasSubstr("\x1b")));
  EXPECT_THAT(InTerminal(plot, 80, {{"TERM", "dumb"}}).output,
              Not(HasSubstr("\x1b")));
  Process watch(
      TerminalCommand(absl::StrCat(Deployment::Executable("fleetperf"),
                                   " watch '\\Numbers\\Number'"),
                      80),
      {{"FLEETPERF_CONFIG", deployment_.File("config.yaml")},
       {"TERM", "dumb"}});
  EXPECT_TRUE(watch.WaitForOutput("MACHINE"));
  EXPECT_THAT(watch.output(), Not(HasSubstr("\x1b")));
}

TEST_F(Output, FullDiskIsAnError) {
  for (const std::string command :
       {"machines", "query '\\Numbers\\Number'",
        "query '\\Numbers\\Number' --step 1s --format pdh-csv",
        "query '\\Numbers\\Number' --raw --format json",
        "plot '\\Numbers\\Number' --step 1s",
        "watch '\\Numbers\\Number' --format json", "--help"}) {
    const Result result = Shell(absl::StrCat(command, " > /dev/full"));
    EXPECT_EQ(result.status, 1) << command;
    EXPECT_THAT(result.error, HasSubstr("cannot write the output: No space "
                                        "left on device"))
        << command;
  }
  // A long output fails long before its end.
  const Result decode = RunCommand(
      {"sh", "-c",
       absl::StrCat("yes '{\"type\":\"PERF_COUNTER_RAWCOUNT\",\"raw1\":"
                    "{\"data\":5}}' | ",
                    Deployment::Executable("fleetperf"), " calc > /dev/full")});
  EXPECT_EQ(decode.status, 1);
  EXPECT_THAT(decode.error, HasSubstr("No space left on device"));
}

TEST_F(Output, CheckHasTheExitStatusesOfPlugins) {
  // The value is 3 and three minutes old.
  const auto check = [&](const std::string& flags) {
    const Result result = Shell("check '\\Numbers\\Number' " + flags);
    EXPECT_THAT(LinesOf(result.output), SizeIs(1)) << flags;
    EXPECT_THAT(result.error, IsEmpty()) << flags;
    return result;
  };
  const Result ok = check("--stale 1h --warn '> 4' --critical '> 5'");
  EXPECT_EQ(ok.status, 0);
  EXPECT_EQ(ok.output,
            "FLEETPERF OK - \\\\box\\Numbers\\Number is 3 | "
            "'\\\\box\\Numbers\\Number'=3;~:4;~:5\n");
  EXPECT_EQ(check("--stale 1h --warn '>= 3' --critical '> 5'").status, 1);
  EXPECT_EQ(check("--stale 1h --over max --critical '> 4'").status, 2);
  const Result stale = check("--critical '> 1'");
  EXPECT_EQ(stale.status, 3);
  EXPECT_THAT(stale.output,
              AllOf(StartsWith("FLEETPERF UNKNOWN - \\\\box\\Numbers\\Number "
                               "is stale: newest sample "),
                    HasSubstr(" | '\\\\box\\Numbers\\Number'=3;;~:1")));
  EXPECT_EQ(check("--machine box --stale 1h").status, 0);
  for (const std::string unknown :
       {"--machine bix", "--warn 80", "--stale soon", "--no-such-flag",
        "--aggregator 127.0.0.1:1"}) {
    const Result result = check(unknown);
    EXPECT_EQ(result.status, 3) << unknown;
    EXPECT_THAT(result.output, StartsWith("FLEETPERF UNKNOWN - ")) << unknown;
  }
}

TEST(Plots, DrawTheLargestOfManyLines) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  std::vector<std::unique_ptr<Process>> idle;
  for (int i = 0; i < 14; ++i) {
    idle.push_back(std::make_unique<Process>("fleetperf-idle", [] {
      for (;;) pause();
    }));
  }
  const auto agent = deployment.StartAgent("box");
  deployment.WaitForSamples("box");
  const std::string path = "\\Process V2(fleetperf-idle:*)\\Thread Count";
  const Result all = deployment.Fleetperf({"plot", path, "--step", "1s"});
  EXPECT_EQ(all.status, 0) << all.error;
  EXPECT_THAT(all.output, HasSubstr("the 12 largest of 14 lines, "));
  const Result top =
      deployment.Fleetperf({"plot", path, "--step", "1s", "--top", "14"});
  EXPECT_THAT(top.output,
              AllOf(Not(HasSubstr(" largest of ")), HasSubstr("and 2 more")));
}

}  // namespace
}  // namespace fleetperf::testing
