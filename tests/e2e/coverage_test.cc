// Answers about a time of which a machine was away for a part: they say what
// they cover, and which time it is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/os/files.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/task_machine.h"
#include "tests/support/tasks.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

// Two machines with one task, which uses half of a processor. "whole" has ticks
// in 40 seconds of ten minutes ago, "away" only in the first 30 of them.
class Coverage : public ::testing::Test {
 protected:
  Coverage() : aggregator_(deployment_.StartAggregator()) {
    for (const auto& [name, seconds] :
         std::map<std::string, int>{{"away", kAway}, {"whole", kSeconds}}) {
      TaskMachine machine(name, start_);
      const uint32_t task = machine.Task("half");
      for (int t = 0; t <= seconds; ++t) {
        machine.Tick(t, {{task, t * kCpuSecond / 2, 1000}});
      }
      machine.Deliver(deployment_);
    }
  }

  // Arguments for `seconds` of the time.
  std::string Ask(const std::string& command, int seconds = kSeconds) const {
    return absl::StrCat(command, " '\\Task(half)\\% Time' ",
                        absl::StrJoin(RangeFrom(start_, seconds), " "));
  }

  static constexpr int kSeconds = 40;
  static constexpr int kAway = 30;
  const absl::Time start_ = SecondsAgo(10 * 60);
  Deployment deployment_;
  std::unique_ptr<Process> aggregator_;
};

TEST_F(Coverage, IsShownAtAnyWidthWhereAPartIsMissing) {
  for (const int columns : {60, 80, 120, 200}) {
    SCOPED_TRACE(columns);
    const auto lines_of = [&](const std::string& arguments) {
      const Result result = deployment_.InTerminal(arguments, columns);
      EXPECT_EQ(result.status, 0) << result.output;
      auto lines = LinesOf(result.output);
      for (const std::string& line : lines) {
        EXPECT_LE(WidthOf(line), columns) << line;
      }
      EXPECT_GE(lines.size(), 3u) << result.output;
      lines.insert(lines.begin(), 3, "");
      return std::vector(lines.end() - 3, lines.end());
    };
    EXPECT_THAT(lines_of(Ask("query")),
                ElementsAre(MatchesRegex("MACHINE .*VALUE  UNIT  .*COVERED"),
                            MatchesRegex("away .* 50.00  % .* 75.0 %"),
                            MatchesRegex("whole .* 50.00  % *")));
    // Of a time that both cover.
    EXPECT_THAT(lines_of(Ask("query", kAway)),
                ElementsAre(AllOf(HasSubstr("VALUE"), Not(HasSubstr("COVER"))),
                            EndsWith("50.00  %"), EndsWith("50.00  %")));
    EXPECT_THAT(lines_of(Ask("query --step 10s")),
                ElementsAre(ContainsRegex("MACHINE .*LAST .*UNIT +COVERED"),
                            MatchesRegex("away .* 50.00 .* 75.0 %.*"),
                            AllOf(MatchesRegex("whole .* 50.00 .*"),
                                  Not(HasSubstr(".0 %")))));
  }
}

TEST_F(Coverage, IsInTheHeadingOfCharts) {
  const std::string away = " --machine away";
  const std::vector<std::string> lines =
      LinesOf(deployment_.Shell(Ask("plot --step 1s") + away).output);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_THAT(lines[1],
              MatchesRegex("values in 30s of 40s, one per 1s, from 20.*"));
  EXPECT_THAT(
      deployment_.Shell(Ask("plot --step 1s") + " --machine whole").output,
      Not(HasSubstr("values in")));
  const std::string file = deployment_.File("chart.svg");
  EXPECT_EQ(
      deployment_.Shell(Ask("plot --step 1s --output " + file) + away).status,
      0);
  EXPECT_THAT(ReadFile(file).value_or(""),
              HasSubstr("values in 30s of 40s, one per 1s, from 20"));
}

// Two machines whose newest samples are of different times. Neither gets older
// than the 30 s after which a machine counts as silent, because both are ahead.
// "behind" uses half of a processor, "ahead" all of one after the
// newest sample of "behind".
TEST(Ranges, OfGroupsEndTogetherAndOthersAtEachMachinesNewestSample) {
  constexpr int kBehind = 40;
  constexpr int kAhead = 46;
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const absl::Time start = SecondsAgo(30);
  TaskMachine ahead("ahead", start);
  TaskMachine behind("behind", start);
  const uint32_t late = ahead.Task("task");
  const uint32_t half = behind.Task("task");
  for (int t = 0; t <= kAhead; ++t) {
    ahead.Tick(t, {{late, std::max(0, t - kBehind) * kCpuSecond, 0}});
    if (t <= kBehind) behind.Tick(t, {{half, t * kCpuSecond / 2, 0}});
  }
  ahead.Deliver(deployment);
  behind.Deliver(deployment);
  // Returns the value and the seconds from `start` to the time of each answer.
  const auto ask = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"query", "\\Task(task)\\% Time",
                                          "--since", "30s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::map<double, int64_t> ends;
    for (const auto& line : deployment.Json(arguments)) {
      ends[line.at("value").get<double>()] =
          absl::ToInt64Seconds(TimeOf(line) - start);
    }
    return ends;
  };
  const auto each = ElementsAre(Pair(20, kAhead), Pair(50, kBehind));
  EXPECT_THAT(ask({}), each);
  EXPECT_THAT(ask({"--where", "> 0"}), each);
  EXPECT_THAT(ask({"--top", "2"}), each);
  // "ahead" has 0 % until the end of "behind".
  EXPECT_THAT(ask({"--agg", "sum"}), ElementsAre(Pair(50, kBehind)));
  EXPECT_THAT(ask({"--agg", "sum", "--by", "machine"}),
              ElementsAre(Pair(0, kBehind), Pair(50, kBehind)));
  const std::string end = RangeFrom(start, kBehind).back();
  EXPECT_THAT(ask({"--to", end}),
              ElementsAre(Pair(0, kBehind), Pair(50, kBehind)));
}

}  // namespace
}  // namespace fleetperf::testing
