#include "cli/plot/ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "base/text/units.h"

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;

// "0 20 40"
std::string Labels(double smallest, double largest, int max_steps) {
  const ValueAxis axis = MakeValueAxis(smallest, largest, max_steps);
  return absl::StrJoin(axis.Ticks(), " ", [&](std::string* out, double tick) {
    out->append(axis.Label(tick));
  });
}

TEST(ValueAxis, HasRoundTicksThatHoldAllValuesAnd0) {
  EXPECT_EQ(Labels(3, 97, 5), "0 20 40 60 80 100");
  EXPECT_EQ(Labels(3, 97, 2), "0 50 100");
  EXPECT_EQ(Labels(3, 101, 5), "0 50 100 150");
  EXPECT_EQ(Labels(0, 1, 5), "0.0 0.2 0.4 0.6 0.8 1.0");
  EXPECT_EQ(Labels(0, 0.07, 4), "0.00 0.02 0.04 0.06 0.08");
  EXPECT_EQ(Labels(0, 0.3, 3), "0.0 0.1 0.2 0.3");
  EXPECT_EQ(Labels(0, 12345, 3), "0 5,000 10,000 15,000");
  EXPECT_EQ(Labels(0, 5e-7, 5),
            "0.0000000 0.0000001 0.0000002 0.0000003 0.0000004 0.0000005");
}

TEST(ValueAxis, ReachesBelow0) {
  EXPECT_EQ(Labels(-30, -10, 3), "-30 -20 -10 0");
  // Steps of 20 would need -20 to 100, which are six.
  EXPECT_EQ(Labels(-1, 99, 5), "-50 0 50 100");
}

TEST(ValueAxis, ExistsEvenIfAllValuesAre0) {
  EXPECT_EQ(Labels(0, 0, 5), "0 1");
}

TEST(RoundDuration, IsACommonDuration) {
  const struct {
    absl::Duration shortest, expected;
  } kCases[] = {
      {absl::ZeroDuration(), absl::Seconds(1)},
      {absl::Milliseconds(1001), absl::Seconds(2)},
      {absl::Seconds(15), absl::Seconds(15)},
      {absl::Seconds(16), absl::Seconds(30)},
      {absl::Seconds(31), absl::Minutes(1)},
      {absl::Minutes(7), absl::Minutes(10)},
      {absl::Hours(13), absl::Hours(24)},
      {absl::Hours(49), absl::Hours(7 * 24)},
      {absl::Hours(15 * 24), absl::Hours(21 * 24)},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(RoundDuration(test.shortest), test.expected) << test.shortest;
  }
}

std::vector<std::string> TimeLabels(const std::string& first,
                                    const std::string& last,
                                    absl::Duration step) {
  std::vector<std::string> labels;
  for (const absl::Time tick :
       TimeTicks(*ParseTime(first, {}), *ParseTime(last, {}), step)) {
    labels.push_back(TimeLabel(tick, step));
  }
  return labels;
}

TEST(TimeTicks, AreAtWholeStepsOfTheDay) {
  EXPECT_THAT(TimeLabels("2026-11-20T21:49:05.5Z", "2026-11-20T21:50:00Z",
                         absl::Seconds(15)),
              ElementsAre("21:49:15", "21:49:30", "21:49:45", "21:50:00"));
  EXPECT_THAT(TimeLabels("2026-11-20T13:00:00Z", "2026-11-21T17:00:00Z",
                         absl::Hours(6)),
              ElementsAre("18:00", "Nov 21", "06:00", "12:00"));
  EXPECT_THAT(TimeLabels("2026-02-27T13:00:00Z", "2026-03-01T17:00:00Z",
                         absl::Hours(24)),
              ElementsAre("Feb 28", "Mar 01"));
}

}  // namespace
}  // namespace fleetperf::cli
