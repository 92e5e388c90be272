#include "driver/perf_event/scaled_total.h"

#include <gtest/gtest.h>

namespace fleetperf::perf_event {
namespace {

TEST(ScaledTotalTest, AnEventThatNeverRanIsUnknown) {
  ScaledTotal total;
  EXPECT_FALSE(total.is_known());
  total.Add(0, 1000, 0);
  EXPECT_FALSE(total.is_known());
}

// A cgroup without a running process.
TEST(ScaledTotalTest, AnEventThatWasNeverEnabledIs0) {
  ScaledTotal total;
  total.Add(0, 0, 0);
  EXPECT_TRUE(total.is_known());
  EXPECT_EQ(total.total(), 0u);
}

TEST(ScaledTotalTest, CountsOfFullTimeAreExact) {
  ScaledTotal total;
  total.Add(5, 10, 10);
  total.Add(1'000'000'007, 30, 30);
  EXPECT_EQ(total.total(), 1'000'000'007u);
}

// 100 in a third of 300 ns, then 10 in all of 100 ns: 300 + 10. Scaling the
// whole by 400/200 would be 220, below the 300 of the first reading.
TEST(ScaledTotalTest, EachPeriodIsScaledByItsOwnTimes) {
  ScaledTotal total;
  total.Add(100, 300, 100);
  EXPECT_EQ(total.total(), 300u);
  total.Add(110, 400, 200);
  EXPECT_EQ(total.total(), 310u);
  EXPECT_EQ(total.time_enabled(), 400u);
  EXPECT_EQ(total.time_running(), 200u);
}

// Each period is 1 · 4/3. Three of them are 4, although each alone rounds to 1.
TEST(ScaledTotalTest, FractionsAreKept) {
  ScaledTotal total;
  for (uint64_t i = 1; i <= 3'000; ++i) total.Add(i, 4 * i, 3 * i);
  EXPECT_GE(total.total(), 3'999u);
  EXPECT_LE(total.total(), 4'000u);
}

TEST(ScaledTotalTest, ATurnOfOthersIsAddedWithTheNextPeriod) {
  ScaledTotal total;
  total.Add(10, 100, 100);
  total.Add(10, 200, 100);  // others ran
  EXPECT_EQ(total.total(), 10u);
  EXPECT_EQ(total.time_enabled(), 200u);
  total.Add(20, 300, 200);  // 10 in 100 of 200 ns
  EXPECT_EQ(total.total(), 30u);
}

TEST(ScaledTotalTest, AReopenedEventContinues) {
  ScaledTotal total;
  total.Add(10, 100, 100);
  total.Add(3, 50, 50);
  EXPECT_EQ(total.total(), 13u);
  EXPECT_EQ(total.time_enabled(), 150u);
}

TEST(ScaledTotalTest, ProductsOf128Bits) {
  ScaledTotal total;
  const uint64_t day = 86'400'000'000'000;
  total.Add(uint64_t{1} << 60, 2 * day, day);
  EXPECT_EQ(total.total(), uint64_t{1} << 61);
}

}  // namespace
}  // namespace fleetperf::perf_event
