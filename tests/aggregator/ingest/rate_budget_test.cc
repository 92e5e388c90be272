#include "aggregator/ingest/rate_budget.h"

#include <gtest/gtest.h>

namespace fleetperf::aggregator {
namespace {

constexpr absl::Duration kNow = absl::Hours(5);
constexpr absl::Duration kNone = absl::ZeroDuration();

TEST(RateBudget, AllowsABurstOfOnePeriod) {
  RateBudget budget(100, absl::Seconds(10), kNow);
  EXPECT_EQ(budget.Charge(40, kNow), kNone);
  EXPECT_EQ(budget.Charge(60, kNow), kNone);
  EXPECT_EQ(budget.Charge(1, kNow), absl::Milliseconds(100));
}

TEST(RateBudget, RequestsAPauseProportionalToTheExcess) {
  RateBudget budget(100, absl::Seconds(10), kNow);
  EXPECT_EQ(budget.Charge(350, kNow), absl::Seconds(25));
  EXPECT_EQ(budget.Charge(50, kNow), absl::Seconds(30));
  // After the pause, the debt is paid and nothing is accumulated.
  const absl::Duration later = kNow + absl::Seconds(30);
  EXPECT_EQ(budget.Charge(0, later), kNone);
  EXPECT_EQ(budget.Charge(10, later), absl::Seconds(1));
}

TEST(RateBudget, AccumulatesAtMostOnePeriod) {
  RateBudget budget(100, absl::Seconds(10), kNow);
  budget.Charge(100, kNow);
  const absl::Duration half = kNow + absl::Seconds(5);
  EXPECT_EQ(budget.Charge(50, half), kNone);
  EXPECT_EQ(budget.Charge(50, half), absl::Seconds(5));
  const absl::Duration much_later = kNow + absl::Hours(100);
  EXPECT_EQ(budget.Charge(100, much_later), kNone);
  EXPECT_EQ(budget.Charge(100, much_later), absl::Seconds(10));
}

TEST(RateBudget, ReportsItsDebtWithoutCharging) {
  RateBudget budget(100, absl::Seconds(10), kNow);
  EXPECT_EQ(budget.Charge(0, kNow), kNone);
  budget.Charge(200, kNow);
  EXPECT_EQ(budget.Charge(0, kNow), absl::Seconds(10));
  EXPECT_EQ(budget.Charge(0, kNow + absl::Seconds(4)), absl::Seconds(6));
  EXPECT_EQ(budget.Charge(0, kNow + absl::Seconds(4)), absl::Seconds(6));
  EXPECT_EQ(budget.Charge(0, kNow + absl::Hours(1)), kNone);
}

// A sender at the rate never has to pause, whatever the batch sizes.
TEST(RateBudget, RequestsNoPauseAtItsRate) {
  RateBudget budget(1'000'000, absl::Hours(1), kNow);
  budget.Charge(1'000'000, kNow);
  absl::Duration now = kNow;
  for (int minutes = 1; minutes <= 60; ++minutes) {
    now += absl::Minutes(minutes);
    EXPECT_LE(budget.Charge(minutes * 1'000'000 / 60, now), kNone);
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
