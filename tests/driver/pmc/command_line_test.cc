// fleetperf-pmc as a process: on this machine, which may have no PMU, and on a
// simulated one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// The message of machines without a PMU.
constexpr char kNoPmu[] = "no hardware PMU";

Result Pmc(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), FLEETPERF_PMC);
  return RunCommand(arguments);
}
Result SimulatedPmc(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), FLEETPERF_SIMULATED_PMC);
  return RunCommand(arguments);
}

std::vector<nlohmann::json> JsonLines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(nlohmann::json::parse(line.begin(), line.end()));
  }
  return lines;
}

// The rows of an experiment on the simulated machine.
std::vector<nlohmann::json> Rows(const std::string& experiment) {
  const Result result =
      SimulatedPmc({"experiments", experiment, "--quick", "--json"});
  EXPECT_EQ(result.status, 0) << result.error;
  std::vector<nlohmann::json> rows;
  for (nlohmann::json& line : JsonLines(result.output)) {
    EXPECT_EQ(line.at("experiment"), experiment);
    if (line.contains("row")) rows.push_back(std::move(line));
  }
  return rows;
}

double Value(const nlohmann::json& row, const char* column) {
  return row.contains(column) ? row.at(column).get<double>() : NAN;
}

TEST(PmcStat, PassesTheExitStatusOn) {
  EXPECT_EQ(Pmc({"stat", "--", "true"}).status, 0);
  EXPECT_EQ(Pmc({"stat", "--", "sh", "-c", "exit 3"}).status, 3);
  EXPECT_EQ(Pmc({"stat", "--", "sh", "-c", "kill -9 $$"}).status, 128 + 9);
  const TempDirectory empty;
  EXPECT_EQ(Pmc({"stat", "--", absl::StrCat(empty.path(), "/absent")}).status,
            127);
  EXPECT_EQ(Pmc({"stat", "--", "/etc/passwd"}).status, 126);
}

TEST(PmcStat, LeavesTheOutputOfTheCommandAlone) {
  const Result result = Pmc({"stat", "--", "echo", "hello", "-e"});
  EXPECT_EQ(result.output, "hello -e\n");
  EXPECT_THAT(result.error,
              AllOf(HasSubstr("echo hello -e"), HasSubstr("page-faults"),
                    HasSubstr("elapsed")));
}

// dd writes a buffer of a number of pages, so that 400 pages more are about
// 400 faults more. They are fewer than a huge page has.
TEST(PmcStat, CountsWhatTheCommandDoes) {
  const auto faults_of = [](int pages) {
    const Result result =
        Pmc({"stat", "--json", "-e", "page-faults", "--", "dd", "if=/dev/zero",
             "of=/dev/null", "count=1", "status=none",
             absl::StrCat("bs=", pages * sysconf(_SC_PAGESIZE))});
    const auto lines = JsonLines(result.error);
    EXPECT_THAT(lines, SizeIs(1)) << result.error;
    return Value(lines.at(0).at("events").at(0), "value");
  };
  EXPECT_NEAR(faults_of(410) - faults_of(10), 400, 40);
}

TEST(PmcStat, CountsChildrenToo) {
  const Result result =
      Pmc({"stat", "--json", "-e", "context-switches", "--", "sh", "-c",
           "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/sleep 0; done"});
  const auto lines = JsonLines(result.error);
  ASSERT_THAT(lines, SizeIs(1)) << result.error;
  // The shell waits for each `sleep`.
  EXPECT_GE(Value(lines[0].at("events").at(0), "value"), 10);
}

TEST(PmcStat, WritesTheCountsToAFile) {
  TempDirectory directory;
  const std::string file = directory.File("counts.json");
  const Result result = Pmc({"stat", "--json", "-o", file, "--", "true"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.error, IsEmpty());
  EXPECT_THAT(RunCommand({"cat", file}).output,
              AllOf(StartsWith("{"), HasSubstr("task-clock")));
}

TEST(PmcStat, NamesAnUnknownEvent) {
  const Result result = Pmc({"stat", "-e", "page-fault", "--", "true"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error,
              AllOf(HasSubstr("page-fault"), Not(HasSubstr("elapsed"))));
}

TEST(PmcStat, TakesAnEventsCode) {
  const Result result =
      Pmc({"stat", "--json", "-e", "D1/08", "-e", "page-faults", "--", "true"});
  if (result.status != 0) {  // a machine without a PMU has no names, either
    EXPECT_THAT(result.error, HasSubstr("no PMU \"cpu\""));
    return;
  }
  const auto lines = JsonLines(result.error);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].at("events").at(0).at("event"), "D1/08");
}

TEST(PmcRdpmc, IsNotForLinux) {
  const Result result = SimulatedPmc({"rdpmc", "--for", "10s"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("perf_event does not open RDPMC"));
  EXPECT_THAT(SimulatedPmc({"rdpmc"}).error, HasSubstr("--for"));
  EXPECT_THAT(Pmc({"rdpmc", "--help"}).output,
              HasSubstr("EVERY program on the machine"));
}

TEST(PmcStat, NeedsACommand) {
  const Result result = Pmc({"stat"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("COMMAND is missing"));
}

TEST(PmcList, DescribesThisMachine) {
  const Result result = Pmc({"list"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(
      result.output,
      AllOf(HasSubstr("timestamp counter"), HasSubstr("perf_event PMUs"),
            HasSubstr("software"), HasSubstr("counts of all CPUs")));
  const auto lines = JsonLines(Pmc({"list", "--json"}).output);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_TRUE(lines[0].contains("cpu_events"));
}

TEST(PmcList, ShowsWhatIsCounted) {
  const auto lines = JsonLines(SimulatedPmc({"list", "--json"}).output);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].at("counts of all CPUs"), "perf_event");
  EXPECT_THAT(lines[0].at("counts of a thread").get<std::string>(),
              HasSubstr("RDPMC"));
  EXPECT_EQ(lines[0].at("counted_events").at(0).at("counts"), "instructions");
}

// 184 M reference cycles of 3.5 G in a second, and 157 M cycles.
TEST(PmcTop, ShowsPcmsColumnsOfEachCpu) {
  const auto lines = JsonLines(
      SimulatedPmc({"top", "--json", "--count", "1", "--interval", "1s"})
          .output);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0].at("cpu"), "0");
  EXPECT_DOUBLE_EQ(Value(lines[0], "seconds"), 1);
  EXPECT_NEAR(Value(lines[0], "utilization"), 184 / 3500.0, 1e-4);
  EXPECT_NEAR(Value(lines[0], "ipc"), 84 / 157.0, 1e-6);
  EXPECT_NEAR(Value(lines[0], "exec"), 84 / 3500.0, 1e-4);
  EXPECT_NEAR(Value(lines[0], "active_frequency"), 3.5 * 157 / 184, 1e-3);
  EXPECT_NEAR(Value(lines[0], "active_frequency_ratio"), 157.0 / 184, 1e-3);
  EXPECT_NEAR(Value(lines[0], "average_frequency_ratio"), 157 / 3500.0, 1e-4);
  EXPECT_EQ(lines[1].at("cpu"), "1");
  EXPECT_EQ(Value(lines[1], "utilization"), 0);
  EXPECT_EQ(lines[2].at("cpu"), "all");
  EXPECT_NEAR(Value(lines[2], "utilization"), 92 / 3500.0, 1e-4);
}

TEST(PmcTop, PrintsPlainLinesIntoAPipe) {
  const Result result = SimulatedPmc({"top", "--count", "2"});
  EXPECT_EQ(result.status, 0);
  const std::vector<std::string> lines = absl::StrSplit(result.output, '\n');
  ASSERT_THAT(lines, SizeIs(10));  // two tables, an empty line between
  EXPECT_THAT(lines[0],
              StartsWith("CPU    UTIL   IPC  EXEC  FREQ  AFREQ  CFREQ"));
  EXPECT_THAT(lines[1],
              StartsWith("0      0.05  0.54  0.02  0.04   0.85   2.99"));
  EXPECT_EQ(lines[0], lines[5]);
  EXPECT_THAT(result.output, Not(HasSubstr("\x1b")));
}

TEST(PmcTop, SaysWhyThereAreNoCounts) {
  const Result result = Pmc({"top", "--count", "1", "--interval", "1ms"});
  if (result.status == 0) GTEST_SKIP() << "This machine has a PMU";
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error,
              AllOf(StartsWith("fleetperf-pmc: instructions: "),
                    AnyOf(HasSubstr(kNoPmu), HasSubstr("perf_event_paranoid")),
                    EndsWith("\n")));
}

TEST(PmcTop, RejectsAnInterval) {
  EXPECT_THAT(SimulatedPmc({"top", "--interval", "0s"}).error,
              HasSubstr("--interval must be at least 1ms"));
}

TEST(PmcExperiments, TheTimestampCounterCountsTime) {
  const auto rows = Rows("tsc");
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_NEAR(Value(rows[0], "TSC cycles/s"), 3.5e9, 1e6);
  EXPECT_NEAR(Value(rows[1], "TSC cycles/s"), 3.5e9, 1e6);
}

// The simulated counter of 48 bits wraps between the reads.
TEST(PmcExperiments, InstructionsAreExact) {
  const auto rows = Rows("back-to-back");
  ASSERT_THAT(rows, SizeIs(10));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(Value(rows[i], "instructions"), i < 5 ? 6 : 8);
  }
  const auto factorials = Rows("factorial");
  ASSERT_THAT(factorials, SizeIs(5));
  for (const auto& row : factorials) EXPECT_EQ(Value(row, "instructions"), 102);
}

// A million turns. The reference counts 3.5 where the core counts 3.6.
TEST(PmcExperiments, LoopsTakeTheSameCycles) {
  const auto rows = Rows("loops");
  ASSERT_THAT(rows, SizeIs(3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Value(rows[i], "instructions"), (5 - i) * 1e6);
    EXPECT_EQ(Value(rows[i], "cycles"), 3e6);
    EXPECT_NEAR(Value(rows[i], "reference"), 3e6 * 3.5 / 3.6, 1);
    EXPECT_NEAR(Value(rows[i], "IPC"), (5 - i) / 3.0, 1e-9);
    EXPECT_NEAR(Value(rows[i], "TSC cycles/turn"), 3 * 3.5 / 3.6, 1e-3);
    EXPECT_NEAR(Value(rows[i], "ns/turn"), 3 / 3.6, 1e-3);
  }
}

TEST(PmcExperiments, NopsAreFreeUntilTheFrontEndIsFull) {
  const auto three = Rows("nops-3");
  ASSERT_THAT(three, SizeIs(2));
  EXPECT_EQ(Value(three[1], "instructions"), 8e6);
  EXPECT_EQ(Value(three[1], "cycles"), Value(three[0], "cycles"));
  const auto nine = Rows("nops-9");
  ASSERT_THAT(nine, SizeIs(2));
  EXPECT_EQ(Value(nine[1], "instructions"), 14e6);
  EXPECT_EQ(Value(nine[1], "cycles"), 3.5e6);
}

TEST(PmcExperiments, TheFrequencyFollowsFromTwoCounters) {
  EXPECT_THAT(SimulatedPmc({"experiments", "frequency", "--quick"}).output,
              AllOf(HasSubstr("base frequency: 3.500 GHz"),
                    HasSubstr("frequency: 3.600 GHz")));
}

// 20 ms.
TEST(PmcExperiments, ReferenceCyclesStopInSleep) {
  const auto rows = Rows("sleep");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_NEAR(Value(rows[0], "instructions"), 84e6 / 50, 1);
  EXPECT_NEAR(Value(rows[0], "reference"), 184e6 / 50, 1);
  EXPECT_NEAR(Value(rows[0], "TSC cycles"), 3.5e9 / 50, 1e5);
}

TEST(PmcExperiments, AddsWaitForEachOther) {
  const auto rows = Rows("adds");
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_EQ(Value(rows[1], "cycles"), 1e6);
  EXPECT_EQ(Value(rows[2], "cycles"), 2e6);
  EXPECT_EQ(Value(rows[2], "instructions"), 6e6);
  EXPECT_LE(Value(rows[3], "cycles"), 1.5e6);
}

// Of 4 MiB: one miss in 64 reads, two, etc.
TEST(PmcExperiments, StridesShowTheLine) {
  const auto rows = Rows("strides");
  ASSERT_THAT(rows, SizeIs(11));
  constexpr double kBytes = 4 << 20;
  for (int i = 0; i < 11; ++i) {
    EXPECT_EQ(rows[i].at("row"), absl::StrCat(1 << i));
    const double misses = kBytes / 64 * std::min(64, 1 << i);
    EXPECT_EQ(Value(rows[i], "L1 misses"), misses);
    EXPECT_EQ(Value(rows[i], "L1 hits"), kBytes - misses);
  }
  EXPECT_NEAR(Value(rows[10], "GB/s"), 1 / 8.0, 1e-3);
  EXPECT_THAT(SimulatedPmc({"experiments", "strides", "--quick"}).output,
              HasSubstr("1024 |####"));
}

TEST(PmcExperiments, LoadRaisesUtilizationAndFrequency) {
  const auto rows = Rows("load");
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_NEAR(Value(rows[0], "UTIL"), 184 / 3500.0, 1e-3);
  EXPECT_NEAR(Value(rows[1], "UTIL"), 1, 1e-3);
  EXPECT_NEAR(Value(rows[0], "CFREQ"), 3.5 * 157 / 184, 1e-2);
  EXPECT_NEAR(Value(rows[1], "CFREQ"), 3.6, 1e-2);
  EXPECT_NEAR(Value(rows[0], "FREQ"), 157 / 3500.0, 1e-3);
  EXPECT_NEAR(Value(rows[1], "FREQ"), 3.6 / 3.5, 1e-2);
}

// Each experiment does what needs no PMU, and says why it does no more.
TEST(PmcExperiments, RunOnThisMachine) {
  const Result result = Pmc({"experiments", "--quick"});
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("TSC cycles/s"), HasSubstr("GB/s"),
                    AnyOf(HasSubstr("not counted: "), HasSubstr("counts: "))));
}

TEST(PmcExperiments, DescribeThemselves) {
  EXPECT_THAT(Pmc({"experiments", "factorial", "--help"}).output,
              HasSubstr("Expected: 102, every time."));
  const std::string all = Pmc({"experiments", "--list"}).output;
  for (const char* name :
       {"tsc", "back-to-back", "factorial", "loops", "nops-3", "nops-9",
        "frequency", "sleep", "adds", "strides", "load"}) {
    EXPECT_TRUE(absl::StrContains(all, absl::StrCat(name, ": "))) << name;
  }
}

TEST(PmcExperiments, SuggestsANameForAWrongOne) {
  const Result result = Pmc({"experiments", "stride"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("did you mean \"strides\"?"));
}

}  // namespace
}  // namespace fleetperf::testing
