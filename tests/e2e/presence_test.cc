// Processes that come and go, on a real agent and aggregator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <set>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {
namespace {

using ::testing::SizeIs;

// Uses this much processor time.
void Burn(absl::Duration time) {
  rusage used;
  do {
    getrusage(RUSAGE_SELF, &used);
  } while (absl::DurationFromTimeval(used.ru_utime) +
               absl::DurationFromTimeval(used.ru_stime) <
           time);
}

// Waits until the machine's samples are newer than `time`.
bool WaitForSamplesAfter(const Deployment& deployment, const std::string& path,
                         absl::Time time) {
  const absl::Time deadline = absl::Now() + kPatience;
  do {
    const Result result = deployment.Fleetperf(
        {"query", path, "--from",
         absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone())});
    if (result.status == 0) return true;
  } while (absl::Now() < deadline);
  return false;
}

// Two queries that want no process, before and after the one that wants all.
constexpr char kTwoQueries[] = R"(
queries:
  - {counterset: Process V2, counters: [Thread Count], instances: [none], interval: 1s}
  - {counterset: Process V2, counters: ['% Processor Time'], interval: 1s}
  - {counterset: Process V2, counters: [Handle Count], instances: [nobody], interval: 1s}
)";

// Processes that run one after the other use one processor. If each counted as
// if it had lasted the whole time, they would use one processor each, and more
// than the total.
TEST(PresenceE2e, ProcessesInSequenceDoNotExceedTheTotal) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent = deployment.StartAgent("box", kTwoQueries);
  const std::string total_path = "\\Process V2(_Total)\\% Processor Time";
  ASSERT_TRUE(deployment.WaitForAnswer(total_path));
  const absl::Time start = absl::Now();
  for (int i = 0; i < 6; ++i) {
    Process brief("brief", [] { Burn(absl::Milliseconds(2500)); });
    ASSERT_EQ(brief.Wait(), 0);
  }
  const absl::Time end = absl::Now();
  ASSERT_TRUE(WaitForSamplesAfter(deployment, total_path, end));
  const auto lines_of = [&](std::vector<std::string> arguments) {
    const auto text = [](absl::Time time) {
      return absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone());
    };
    for (const std::string& argument :
         {std::string("--from"), text(start), std::string("--to"), text(end)}) {
      arguments.push_back(argument);
    }
    arguments.insert(arguments.begin(), "query");
    return deployment.Json(arguments);
  };
  const auto ask = [&](const std::vector<std::string>& arguments) {
    const auto lines = lines_of(arguments);
    EXPECT_THAT(lines, SizeIs(1));
    return lines.empty() ? 0.0 : lines[0].at("value").get<double>();
  };
  const double sum = ask({"\\Process V2(*)\\% Processor Time", "--agg", "sum"});
  const double of_brief =
      ask({"\\Process V2(brief:*)\\% Processor Time", "--agg", "sum"});
  const double total = ask({total_path});
  EXPECT_GT(of_brief, 0);
  EXPECT_LE(of_brief, 105);
  // Linux counts processor time in units of 10 ms, process by process.
  EXPECT_LE(sum, 1.05 * total + 5);

  // Each process started between two ticks, so its first sample has a value.
  // One may have got its name after its first tick.
  std::set<std::string> seen;
  int without_value = 0;
  for (const auto& line :
       lines_of({"\\Process V2(brief:*)\\% Processor Time", "--step", "1s"})) {
    const bool is_first = seen.insert(line.at("path")).second;
    if (is_first && line.at("status") != "ok") ++without_value;
  }
  EXPECT_THAT(seen, SizeIs(6));
  EXPECT_LE(without_value, 1);
}

}  // namespace
}  // namespace fleetperf::testing
