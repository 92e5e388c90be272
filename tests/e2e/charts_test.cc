// Tests of tables with trends, charts and progress bars. Output that requires a
// terminal is tested in one created by script(1).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/os/files.h"
#include "tests/e2e/deployment.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kMemory[] = "\\Memory\\Available Bytes";
constexpr char kProcesses[] = "\\System\\Processes";

// An aggregator with samples of an agent that has ended.
class Charts : public ::testing::Test {
 protected:
  Charts() : aggregator_(deployment_.StartAggregator()) {
    const auto agent = deployment_.StartAgent("box");
    deployment_.WaitForSamples("box");
    const auto watch =
        deployment_.StartFleetperf({"watch", kProcesses, "--format", "json"});
    EXPECT_TRUE(watch->WaitForOutput("\"ok\"", 3));
  }

  std::vector<std::string> RunInTerminal(const std::string& arguments,
                                         const std::string& locale) {
    const Result result =
        deployment_.InTerminal(arguments, 100, {{"LC_ALL", locale}});
    EXPECT_EQ(result.status, 0) << result.output;
    return LinesOf(result.output);
  }

  Deployment deployment_;
  std::unique_ptr<Process> aggregator_;
};

TEST_F(Charts, QueryPrintsOneRowPerSeries) {
  const Result result = deployment_.Fleetperf(
      {"query", kMemory, kProcesses, "--since", "1h", "--step", "1s"});
  const std::vector<std::string> lines = LinesOf(result.output);
  ASSERT_THAT(lines, SizeIs(4)) << result.output;
  EXPECT_THAT(lines[0],
              MatchesRegex("from 20.*Z to 20.*Z: [0-9]+s of the last 1h"));
  EXPECT_THAT(
      lines[1],
      MatchesRegex(
          "MACHINE  COUNTER +LAST +AVG +MIN +MAX  UNIT  COVERED( +GAPS  "
          "CAUSE)?"));
  EXPECT_THAT(lines[2],
              MatchesRegex("box +.Memory.Available Bytes( +[0-9.,]+){4}  .iB"
                           " +0[.][0-9] %( +[0-9]+  .*)?"));
  EXPECT_THAT(lines[3], StartsWith("box      \\System\\Processes "));
  // The row shows the same numbers as the JSON output, which has one line per
  // value.
  const auto values =
      deployment_.Json({"query", kProcesses, "--since", "1h", "--step", "1s"});
  double last = 0;
  for (const nlohmann::json& value : values) {
    if (value["status"] == "ok") last = value["value"].get<double>();
  }
  EXPECT_THAT(absl::StrReplaceAll(lines[3], {{",", ""}}),
              HasSubstr(absl::StrCat("  ", last, "  ")));
  // Without --step, each row has a single value, the average.
  EXPECT_THAT(
      LinesOf(deployment_.Fleetperf({"query", kProcesses}).output),
      ElementsAre("mean of the last 5m",
                  MatchesRegex("MACHINE  COUNTER +VALUE( +NEWEST SAMPLE)?"
                               "  COVERED"),
                  MatchesRegex("box +.System.Processes +[0-9,.]+( +.*old)?"
                               " +[0-9.]+ %")));
}

TEST_F(Charts, QueryPrintsTrendsInTerminal) {
  const std::string query =
      absl::StrCat("query '", kProcesses, "' --since 1h --step 1s");
  const auto unicode = RunInTerminal(query, "C.UTF-8");
  ASSERT_THAT(unicode, SizeIs(3));
  EXPECT_THAT(unicode[1], HasSubstr("  TREND"));
  EXPECT_THAT(unicode[2], HasSubstr("█"));
  const auto ascii = RunInTerminal(query, "C");
  ASSERT_THAT(ascii, SizeIs(3));
  EXPECT_THAT(ascii[2], AllOf(HasSubstr("@"), Not(HasSubstr("█"))));
}

TEST_F(Charts, PlotDrawsInTerminal) {
  const std::string plot = absl::StrCat("plot '", kProcesses, "' '", kMemory,
                                        "' --since 1h --step 1s");
  const auto lines = RunInTerminal(plot, "C.UTF-8");
  // Two lines of text, then panels that share the rest of 29 rows equally. The
  // last row of the terminal is for the prompt.
  ASSERT_THAT(lines, SizeIs(2 + 2 * 13));
  EXPECT_EQ(lines[0], absl::StrCat(kProcesses, ", ", kMemory));
  EXPECT_THAT(lines[1],
              MatchesRegex("values in [0-9]+s of 1h, one per 1s, from "
                           "20.*Z to 20.*Z"));
  // Panels are in the order of the paths.
  EXPECT_THAT(lines[2], EndsWith("  Processes"));
  EXPECT_THAT(lines[14], EndsWith("━━\x1b[0m \\\\box\\System\\Processes"));
  EXPECT_THAT(lines[15], HasSubstr("Available Bytes, in "));
  EXPECT_THAT(lines[27],
              EndsWith("━━\x1b[0m \\\\box\\Memory\\Available Bytes"));

  // A pipe gets no colors, and only characters of the locale.
  const Result piped = RunCommand(
      {Deployment::Executable("fleetperf"), "plot", kProcesses, "--since",
       "1m"},
      {{"FLEETPERF_CONFIG", deployment_.File("config.yaml")}, {"LC_ALL", "C"}});
  EXPECT_EQ(piped.status, 0) << piped.error;
  EXPECT_THAT(LinesOf(piped.output), SizeIs(24));
  EXPECT_THAT(piped.output, AllOf(HasSubstr("*"), Not(HasSubstr("\x1b")),
                                  Not(HasSubstr("─"))));
}

TEST_F(Charts, SayWhatTheyCoverOfALongTime) {
  const std::vector<std::string> table =
      LinesOf(deployment_
                  .Fleetperf({"query", "\\System\\Context Switches/sec",
                              "--since", "7d"})
                  .output);
  ASSERT_THAT(table, SizeIs(3));
  EXPECT_EQ(table[0], "mean of the last 7d");
  EXPECT_THAT(table[1], HasSubstr("  COVERED"));
  EXPECT_THAT(table[2], ContainsRegex(" /s  .* <0.1 %"));
  // The step is that of the samples, not a hundredth of the time.
  const std::vector<std::string> chart =
      RunInTerminal(absl::StrCat("plot '", kProcesses, "' --since 7d"), "C");
  ASSERT_THAT(chart, SizeIs(Gt(2)));
  EXPECT_THAT(chart[1],
              MatchesRegex("values in [0-9]+s of 7d, one per 1s, from 20.*"));
  // The axis is the asked time.
  const std::vector<std::string> words = absl::StrSplit(chart[1], ' ');
  ASSERT_THAT(words, SizeIs(12));
  const auto time_of = [](const std::string& text) {
    return TimeOf({{"time", text}});
  };
  EXPECT_EQ(time_of(words[11]) - time_of(words[9]), absl::Hours(7 * 24));
  const std::string svg = deployment_.File("week.svg");
  EXPECT_EQ(
      deployment_
          .Fleetperf({"plot", kProcesses, "--since", "7d", "--output", svg})
          .status,
      0);
  EXPECT_THAT(ReadFile(svg).value_or(""),
              ContainsRegex("values in [0-9]+s of 7d, one per 1s, from 20"));
}

TEST_F(Charts, SayThatNothingIsSelected) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"query", kProcesses},
        {"query", kProcesses, "--step", "1s"},
        {"query", kProcesses, "--format", "json"},
        {"query", kProcesses, "--format", "csv"},
        {"query", kProcesses, "--format", "pdh-csv"},
        {"query", kProcesses, "--pivot"},
        {"query", kProcesses, "--agg", "sum"},
        {"query", absl::StrCat(kProcesses, " * 2")},
        {"plot", kProcesses, "--step", "1s"},
        {"plot", kProcesses, "--output", deployment_.File("nothing.svg")}}) {
    SCOPED_TRACE(absl::StrJoin(command, " "));
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--where", "> 1000000"});
    const Result result = deployment_.Fleetperf(arguments);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(
        result.error,
        "fleetperf: no series has a value that is > 1000000 in this "
        "time; to see their values, repeat the command without --where\n");
  }
  EXPECT_FALSE(FileExists(deployment_.File("nothing.svg")));

  const Result check =
      deployment_.Fleetperf({"check", kProcesses, "--where", "> 1000000"});
  EXPECT_EQ(check.status, 0);
  EXPECT_EQ(check.output, "FLEETPERF OK - no value is > 1000000\n");
  // A later value may satisfy it.
  const auto watch =
      deployment_.StartFleetperf({"watch", kProcesses, "--where", "> 1000000"});
  ASSERT_TRUE(watch->WaitForError("no value is > 1000000 yet; waiting"));
  watch->Signal(SIGINT);
  EXPECT_EQ(watch->Wait(), 2);
  EXPECT_TRUE(
      watch->WaitForError("no value was > 1000000; to see the values, repeat"));
  EXPECT_EQ(watch->output(), "");
}

TEST_F(Charts, CsvHasTimesOfSpreadsheets) {
  EXPECT_THAT(
      deployment_.Fleetperf({"query", kProcesses, "--format", "csv"}).output,
      ContainsRegex(",20[0-9]{2}-[0-9]{2}-[0-9]{2} "
                    "[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3},"));
}

TEST_F(Charts, PlotWritesSvgAndPngFiles) {
  const std::string svg = deployment_.File("chart.svg");
  const Result drawn = deployment_.Fleetperf(
      {"plot", kProcesses, "--since", "1h", "--step", "1s", "--output", svg});
  EXPECT_EQ(drawn.status, 0) << drawn.error;
  EXPECT_THAT(drawn.output, IsEmpty());
  EXPECT_THAT(ReadFile(svg).value_or(""),
              AllOf(HasSubstr("<title>\\System\\Processes</title>"),
                    HasSubstr("\\\\box\\System\\Processes</desc>"),
                    HasSubstr("xlink:href=\"#glyph"), EndsWith("</svg>\n")));
  const std::string png = deployment_.File("chart.png");
  EXPECT_EQ(deployment_
                .Fleetperf({"plot", kProcesses, kMemory, "--since", "1m",
                            "--output", png})
                .status,
            0);
  // The signature, then the width and the height in the header.
  EXPECT_THAT(ReadFile(png).value_or(""),
              StartsWith(std::string("\x89PNG\r\n\x1A\n\0\0\0\rIHDR"
                                     "\0\0\x04\xB0\0\0\x03\x08",
                                     24)));

  const std::string jpeg = deployment_.File("chart.jpg");
  const Result refused =
      deployment_.Fleetperf({"plot", kProcesses, "--output", jpeg});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error, HasSubstr("does not end in .svg or .png"));
  EXPECT_FALSE(FileExists(jpeg));
  const std::string nowhere = deployment_.File("no-directory/chart.svg");
  EXPECT_THAT(
      deployment_.Fleetperf({"plot", kProcesses, "--output", nowhere}).error,
      HasSubstr(absl::StrCat(nowhere, ": ")));
}

TEST(Progress, IsShownInTerminalUntilCommandEnds) {
  const TempDirectory directory;
  const std::string pipe = directory.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string decode =
      absl::StrCat(Deployment::Executable("fleetperf"), " decode ", pipe,
                   " --format csv > /dev/null");
  Process process(TerminalCommand(decode, 80));
  // The command waits for the data written below. It is at least 2 s.
  ASSERT_TRUE(process.WaitForOutput(" s: [....................]   0 %"));
  std::ofstream(pipe) << "no block";
  EXPECT_EQ(process.Wait(), 1);
  const std::vector<std::string> parts =
      absl::StrSplit(process.output(), '\r', absl::SkipEmpty());
  ASSERT_GE(parts.size(), 3);
  EXPECT_THAT(parts[0], MatchesRegex("decoding, ([2-9]|[1-9][0-9]+) s: .*"));
  // Spaces overwrite the progress bar before the error is printed.
  EXPECT_THAT(parts[parts.size() - 2 - absl::StartsWith(parts.back(), "\n")],
              MatchesRegex(" +"));
  EXPECT_THAT(process.output(), HasSubstr(absl::StrCat("\r", pipe, ": ")));
}

}  // namespace
}  // namespace fleetperf::testing
