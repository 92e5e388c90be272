// Rankings of series: tables that are sorted by what they show.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/task_machine.h"
#include "tests/support/tasks.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr char kTime[] = "'\\Task(*)\\% Time'";
constexpr char kBytes[] = "'\\Task(*)\\Bytes'";

// A machine with ticks from 0 s to 10 s after a time twenty minutes ago. The
// task "steady" uses 39 % of a processor, "idle" 8 %, and "brief" 90 % from 5 s
// to 7 s, when it ends.
class Rankings : public ::testing::Test {
 protected:
  Rankings() : aggregator_(deployment_.StartAggregator()) {
    TaskMachine box("box", start_);
    const uint32_t idle = box.Task("idle");
    const uint32_t steady = box.Task("steady");
    const uint32_t brief = box.Task("brief");
    for (int t = 0; t <= 10; ++t) {
      const int64_t percent = t * kCpuSecond / 100;
      std::vector<TaskMachine::Values> tasks = {{idle, 8 * percent, 4000},
                                                {steady, 39 * percent, 1000}};
      if (t >= 5 && t <= 7) tasks.push_back({brief, 90 * percent, 9000});
      box.Tick(t, tasks);
    }
    box.Deliver(deployment_);
  }

  // Runs a query and returns its lines; in a terminal if `columns` is not 0.
  std::vector<std::string> Query(const std::string& arguments,
                                 int columns = 0) const {
    const std::string query =
        absl::StrCat("query ", arguments, " ",
                     absl::StrJoin(RangeFrom(start_, kSeconds), " "));
    const Result result = columns == 0 ? deployment_.Shell(query)
                                       : deployment_.InTerminal(
                                             query, columns, {{"LC_ALL", "C"}});
    EXPECT_EQ(result.status, 0) << result.output << result.error;
    return LinesOf(result.output);
  }

  static constexpr int kSeconds = 10;
  const absl::Time start_ = SecondsAgo(20 * 60);
  Deployment deployment_;
  std::unique_ptr<Process> aggregator_;
};

TEST_F(Rankings, AreSortedByTheShareThatTheyShow) {
  // "brief" has 90 % in 2 s of 10 s.
  EXPECT_THAT(
      Query(absl::StrCat(kTime, " --top 3")),
      ElementsAre(
          AllOf(HasSubstr("mean of the time"),
                HasSubstr("; ranked by SHARE, the value times PRESENCE")),
          ContainsRegex(
              "INSTANCE +SHARE +VALUE +UNIT +NEWEST SAMPLE +PRESENCE"),
          ContainsRegex("steady +39.00 +39.00 +%$"),
          ContainsRegex("brief +18.00 +90.00 +% +ended [0-9:]+Z, .* 20.0 %$"),
          ContainsRegex("idle +8.00 +8.00 +%$")));
  for (const int columns : {60, 80, 120, 200}) {
    const auto lines = Query(absl::StrCat(kTime, " --top 3"), columns);
    ASSERT_GE(lines.size(), 5u);
    for (const std::string& line : lines) {
      EXPECT_LE(WidthOf(line), columns) << line;
    }
    EXPECT_THAT(lines[lines.size() - 4],
                ContainsRegex("INSTANCE +SHARE +VALUE +UNIT"));
    EXPECT_THAT(lines[lines.size() - 2],
                ContainsRegex("brief +18.00 +90.00 +% +ended"));
  }
  // All shares are the values.
  EXPECT_THAT(Query(absl::StrCat(kTime, " --top 1")),
              ElementsAre(Not(HasSubstr("SHARE")), Not(HasSubstr("SHARE")),
                          HasSubstr("steady")));
  EXPECT_THAT(
      Query(absl::StrCat(kTime, " --bottom 1 --format csv")),
      ElementsAre(::testing::EndsWith(",presence,share"),
                  AllOf(HasSubstr("idle"), ::testing::EndsWith(",8.0"))));
}

TEST_F(Rankings, MarkWhatHasEnded) {
  // The newest sample of "brief" is large.
  EXPECT_THAT(
      Query(absl::StrCat(kTime, " --top 2 --over last")),
      ElementsAre(HasSubstr("newest sample"), HasSubstr("NEWEST SAMPLE"),
                  ContainsRegex("brief +90.00 +% +ended [0-9:]+Z, "),
                  ContainsRegex("steady +39.00 +%$")));
  for (const int columns : {0, 60, 80, 120, 200}) {
    const auto lines =
        Query(absl::StrCat(kTime, " --top 3 --step 2s"), columns);
    ASSERT_GE(lines.size(), 5u);
    EXPECT_THAT(lines[0], ::testing::EndsWith(", by SHARE"));
    const auto header = lines.end() - 4;
    EXPECT_THAT(*header,
                ContainsRegex("SHARE +LAST .*MAX +UNIT +COVERED +ENDED"));
    EXPECT_THAT(header[1], ContainsRegex("steady +39.00 +39.00 "));
    EXPECT_THAT(header[2], ContainsRegex("brief +18.00 +90.00 .*[0-9:]+Z"));
    EXPECT_THAT(header[3], ContainsRegex("idle +8.00 +8.00 "));
  }
  std::vector<std::string> top = {"query", "\\Task(brief)\\% Time", "--top",
                                  "1"};
  for (const std::string& flag : RangeFrom(start_, kSeconds)) {
    top.push_back(flag);
  }
  const auto json = deployment_.Json(top);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0].at("value"), 90);
  EXPECT_EQ(json[0].at("share"), 18);
  EXPECT_EQ(json[0].at("ended"), true);
}

// "brief" has values in the third and fourth of five steps, and the largest.
TEST_F(Rankings, HaveTrendsOnOneTimeAxisAndScale) {
  for (const int columns : {120, 200}) {
    const auto lines =
        Query(absl::StrCat(kTime, " --top 3 --step 2s"), columns);
    ASSERT_GE(lines.size(), 5u);
    const auto header = lines.end() - 4;
    const size_t trend = header->find("TREND");
    ASSERT_NE(trend, std::string::npos) << *header;
    for (int row = 1; row <= 3; ++row) ASSERT_GT(header[row].size(), trend);
    EXPECT_THAT(header[1].substr(trend), MatchesRegex("[.=+*%-]{5} *"));
    EXPECT_THAT(header[2].substr(trend), MatchesRegex("  @@ *"));
    EXPECT_THAT(header[3].substr(trend), MatchesRegex("[_.-]{5} *"));
  }
}

TEST_F(Rankings, AreThoseOfEachCounter) {
  const auto lines =
      Query(absl::StrCat(kBytes, " ", kTime, " --top 2 --format csv"));
  std::vector<std::string> instances;
  for (const std::string& line : lines) {
    const std::vector<std::string> fields = absl::StrSplit(line, ',');
    instances.push_back(fields[1]);
  }
  // Of Bytes, "brief" has 9000 in 3 s of 10 s.
  EXPECT_THAT(
      instances,
      ElementsAre("path", "\\Task(steady)\\% Time", "\\Task(brief)\\% Time",
                  "\\Task(idle)\\Bytes", "\\Task(brief)\\Bytes"));
}

TEST_F(Rankings, OfAMachineThatIsAwayAreByItsNewestSamples) {
  const auto watch = deployment_.StartFleetperf(
      {"watch", "\\Task(*)\\% Time", "\\Task(*)\\Bytes", "--top", "1"});
  ASSERT_TRUE(watch->WaitForOutput("2 series, none current, largest first"))
      << watch->output();
  ASSERT_TRUE(watch->WaitForOutput(" old", 2)) << watch->output();
  EXPECT_THAT(watch->output(),
              AllOf(ContainsRegex("% Time +steady +39.00 +% +[0-9:]+Z, .* old"),
                    ContainsRegex("Bytes +idle +3.91 +KiB +[0-9:]+Z, .* old")));
}

}  // namespace
}  // namespace fleetperf::testing
