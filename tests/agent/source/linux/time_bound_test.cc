#include "agent/source/linux/time_bound.h"

#include <gtest/gtest.h>

#include "absl/time/time.h"
#include "perflib/clocks.h"
#include "tests/support/simulated_clock.h"

namespace fleetperf::agent {
namespace {

constexpr uint64_t kMillisecond = 10'000;  // in units of 100 ns

class TimeBoundTest : public ::testing::Test {
 protected:
  void Read() {
    bound_.BeforeRead();
    bound_.AfterRead(perflib::LinuxClocks(clock_.Monotonic(), clock_.Now()));
  }
  // Whether a time can have grown by that between the last two reads.
  // The test itself takes less than a minute for each.
  bool AllowsGrowth(uint64_t milliseconds, uint64_t units = 1) {
    constexpr uint64_t kLast = 7'000'000;
    return bound_.Allows(kLast, kLast + milliseconds * kMillisecond, units);
  }

  testing::SimulatedClock clock_;
  TimeBound bound_;
};

TEST_F(TimeBoundTest, ATimeGrowsByTheTimeThatPassedAndATick) {
  Read();
  clock_.Advance(absl::Minutes(1));
  Read();
  EXPECT_TRUE(AllowsGrowth(0));
  EXPECT_TRUE(AllowsGrowth(60'000));
  EXPECT_TRUE(AllowsGrowth(60'010));
  EXPECT_FALSE(AllowsGrowth(60'011));
  EXPECT_FALSE(AllowsGrowth(899'020 * 10));
}

// In 995 ms, a CPU can have a tick of 10 ms at the beginning and another one at
// the end, of which /proc counts 100 whole ones, and the kernel one more.
TEST_F(TimeBoundTest, CountsTheTickThatHasBegun) {
  Read();
  clock_.Advance(absl::Milliseconds(59'995));
  Read();
  EXPECT_TRUE(AllowsGrowth(60'010));
  EXPECT_FALSE(AllowsGrowth(60'011));
}

TEST_F(TimeBoundTest, ASumOfUnitsGrowsByTheTimeOfEach) {
  Read();
  clock_.Advance(absl::Minutes(1));
  Read();
  EXPECT_TRUE(AllowsGrowth(240'010, /*units=*/4));
  EXPECT_FALSE(AllowsGrowth(240'011, /*units=*/4));
  EXPECT_TRUE(bound_.Allows(0, ~uint64_t{0}, /*units=*/~uint64_t{0}));
}

TEST_F(TimeBoundTest, AFallIsNoGrowth) {
  Read();
  clock_.Advance(absl::Minutes(1));
  Read();
  EXPECT_FALSE(bound_.Allows(1000, 999));
}

// The aggregator calculates nothing across a step.
TEST_F(TimeBoundTest, AStepOfTheWallClockIsNoTimeThatPassed) {
  Read();
  for (const int hours : {5, -5}) {
    clock_.Advance(absl::Minutes(1));
    clock_.Step(absl::Hours(hours));
    Read();
    EXPECT_TRUE(AllowsGrowth(60'000)) << hours;
    EXPECT_FALSE(AllowsGrowth(60'020)) << hours;
  }
}

// Without AfterRead, the times are those of the read before.
TEST_F(TimeBoundTest, AFailedReadAddsItsTimeToTheNext) {
  Read();
  clock_.Advance(absl::Minutes(1));
  bound_.BeforeRead();
  clock_.Advance(absl::Minutes(1));
  Read();
  EXPECT_TRUE(AllowsGrowth(120'000));
  EXPECT_FALSE(AllowsGrowth(120'020));
}

}  // namespace
}  // namespace fleetperf::agent
