// Tests of tables with trends, charts and progress bars. Output that requires a
// terminal is tested in one created by script(1).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/files.h"
#include "tests/e2e/deployment.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kMemory[] = "\\Memory\\Available Bytes";
constexpr char kProcesses[] = "\\System\\Processes";

// Returns a command that runs the shell command `command` in a terminal of this
// size.
std::vector<std::string> InTerminal(const std::string& command, int columns,
                                    int rows) {
  return {"script",
          "--quiet",
          "--return",
          "--command",
          absl::StrCat("stty cols ", columns, " rows ", rows, "; ", command),
          "/dev/null"};
}

std::vector<std::string> TerminalLines(const std::string& text) {
  return absl::StrSplit(text, absl::ByAnyChar("\r\n"), absl::SkipEmpty());
}

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
    const Result result = RunCommand(
        InTerminal(
            absl::StrCat(Deployment::Executable("fleetperf"), " ", arguments),
            100, 30),
        {{"FLEETPERF_CONFIG", deployment_.File("config.yaml")},
         {"LC_ALL", locale}});
    EXPECT_EQ(result.status, 0) << result.output;
    return TerminalLines(result.output);
  }

  Deployment deployment_;
  std::unique_ptr<Process> aggregator_;
};

TEST_F(Charts, QueryPrintsOneRowPerSeries) {
  const Result result = deployment_.Fleetperf(
      {"query", kMemory, kProcesses, "--since", "1h", "--step", "1s"});
  const std::vector<std::string> lines = TerminalLines(result.output);
  ASSERT_THAT(lines, SizeIs(4)) << result.output;
  EXPECT_THAT(lines[0], MatchesRegex("from 20.*Z to 20.*Z"));
  EXPECT_THAT(
      lines[1],
      MatchesRegex(
          "MACHINE  COUNTER +LAST +AVG +MIN +MAX  UNIT( +GAPS  CAUSE)?"));
  EXPECT_THAT(lines[2],
              MatchesRegex("box +.Memory.Available Bytes( +[0-9.,]+){4}  .iB"
                           "( +[0-9]+  .*)?"));
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
      TerminalLines(deployment_.Fleetperf({"query", kProcesses}).output),
      ElementsAre("mean of the last 5m",
                  MatchesRegex("MACHINE  COUNTER +VALUE( +NEWEST SAMPLE)?"),
                  MatchesRegex("box +.System.Processes +[0-9,.]+( +.*old)?")));
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
  EXPECT_THAT(lines[1], MatchesRegex("from 20.*Z to 20.*Z, one value per 1s"));
  // Panels are sorted by machine and path.
  EXPECT_THAT(lines[2], HasSubstr("Available Bytes, in "));
  EXPECT_THAT(lines[14],
              EndsWith("━━\x1b[0m \\\\box\\Memory\\Available Bytes"));
  EXPECT_THAT(lines[15], EndsWith("  Processes"));
  EXPECT_THAT(lines[27], EndsWith("━━\x1b[0m \\\\box\\System\\Processes"));

  // A pipe gets no colors, and only characters of the locale.
  const Result piped = RunCommand(
      {Deployment::Executable("fleetperf"), "plot", kProcesses, "--since",
       "1m"},
      {{"FLEETPERF_CONFIG", deployment_.File("config.yaml")}, {"LC_ALL", "C"}});
  EXPECT_EQ(piped.status, 0) << piped.error;
  EXPECT_THAT(TerminalLines(piped.output), SizeIs(24));
  EXPECT_THAT(piped.output, AllOf(HasSubstr("*"), Not(HasSubstr("\x1b")),
                                  Not(HasSubstr("─"))));
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
}

TEST(Progress, IsShownInTerminalUntilCommandEnds) {
  const TempDirectory directory;
  const std::string pipe = directory.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string decode =
      absl::StrCat(Deployment::Executable("fleetperf"), " decode ", pipe,
                   " --format csv > /dev/null");
  Process process(InTerminal(decode, 80, 24));
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
