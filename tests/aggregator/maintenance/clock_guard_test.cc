#include "aggregator/maintenance/clock_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/disk_agent.h"
#include "tests/support/log_capture.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kDay = absl::Hours(24);
constexpr absl::Duration kHour = absl::Hours(1);

class ClockGuardTest : public ::testing::Test {
 protected:
  ClockGuardTest() { Start(); }

  void Start() { guard_ = std::make_unique<ClockGuard>(&*store_, &clock_); }
  // The aggregator is stopped for so long, while its machine is up.
  void Restart(absl::Duration pause) {
    guard_.reset();
    clock_.Advance(pause);
    store_.Reopen();
    Start();
  }
  // The same, but it is killed: its end does not tell the store the time.
  void Crash(absl::Duration pause) {
    const std::optional<absl::Time> known = store_->KnownTime();
    guard_.reset();
    ASSERT_TRUE(known.has_value());
    ASSERT_OK(store_->PutKnownTime(*known));
    clock_.Advance(pause);
    store_.Reopen();
    Start();
  }
  bool IsHeld() { return !guard_->Now().has_value(); }
  // Time passes, and the guard looks on.
  void Pass(absl::Duration time) {
    const absl::Duration end = clock_.Monotonic() + time;
    while (clock_.Monotonic() < end) {
      clock_.Advance(absl::Minutes(10));
      guard_->Now();
    }
  }

  testing::SimulatedClock clock_;
  testing::TestStore store_;
  std::unique_ptr<ClockGuard> guard_;
};

TEST_F(ClockGuardTest, GoesByAClockThatGoes) {
  const testing::LogCapture log;
  EXPECT_EQ(guard_->Now(), clock_.Now());
  Pass(3 * kDay);
  clock_.Advance(30 * kDay);  // nobody looked
  EXPECT_EQ(guard_->Now(), clock_.Now());
  EXPECT_FALSE(guard_->hold().has_value());
  EXPECT_FALSE(guard_->Confirm());
  EXPECT_THAT(log.Lines(), IsEmpty());
}

TEST_F(ClockGuardTest, DoesNotMindSmallStepsAndDrift) {
  // Ten minutes ahead every day, for a year, and an hour at once.
  for (int day = 0; day < 365; ++day) {
    clock_.Step(absl::Minutes(10));
    Pass(kDay);
    EXPECT_FALSE(IsHeld()) << day;
  }
  Pass(kDay);
  clock_.Step(kHour);
  EXPECT_FALSE(IsHeld());
}

TEST_F(ClockGuardTest, HoldsForADayOfUptimeAfterAJump) {
  const testing::LogCapture log;
  clock_.Step(450 * kDay);
  EXPECT_TRUE(IsHeld());
  ASSERT_TRUE(guard_->hold().has_value());
  EXPECT_EQ(guard_->hold()->jump, 450 * kDay);
  EXPECT_EQ(guard_->hold()->left, kDay);
  clock_.Advance(kDay - absl::Seconds(1));
  EXPECT_TRUE(IsHeld());
  EXPECT_EQ(guard_->hold()->left, absl::Seconds(1));
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(guard_->Now(), clock_.Now());
  EXPECT_FALSE(guard_->hold().has_value());
  EXPECT_THAT(
      log.Lines(),
      ElementsAre(
          AllOf(HasSubstr("warning"), HasSubstr("ahead by 10800h"),
                HasSubstr("for 24h"), HasSubstr("fleetperf confirm-clock")),
          AllOf(HasSubstr("info"), HasSubstr("removed again"))));
}

TEST_F(ClockGuardTest, AJumpIsMoreThanAnHourThatNothingExplains) {
  clock_.Step(kHour + absl::Seconds(1));
  EXPECT_TRUE(IsHeld());
}

TEST_F(ClockGuardTest, SmallStepsOfADayAddUp) {
  clock_.Step(absl::Minutes(40));
  Pass(kHour);
  EXPECT_FALSE(IsHeld());
  clock_.Step(absl::Minutes(40));
  EXPECT_TRUE(IsHeld());
}

TEST_F(ClockGuardTest, GoesOnHoldingWhenTheClockIsSetBack) {
  clock_.Step(450 * kDay);
  EXPECT_TRUE(IsHeld());
  clock_.Advance(absl::Seconds(25));
  clock_.Step(-450 * kDay);
  EXPECT_TRUE(IsHeld());
  Pass(kDay);
  EXPECT_FALSE(IsHeld());
}

TEST_F(ClockGuardTest, AnotherJumpHoldsForAnotherDay) {
  clock_.Step(8 * kDay);
  EXPECT_TRUE(IsHeld());
  Pass(23 * kHour);
  clock_.Step(-8 * kDay);
  EXPECT_TRUE(IsHeld());
  clock_.Step(8 * kDay);
  EXPECT_TRUE(IsHeld());
  Pass(23 * kHour);
  EXPECT_TRUE(IsHeld());
  Pass(kHour);
  EXPECT_FALSE(IsHeld());
}

TEST_F(ClockGuardTest, AStepBackIsNoJump) {
  clock_.Step(-450 * kDay);
  EXPECT_FALSE(IsHeld());
  // But what goes ahead from there is.
  clock_.Step(450 * kDay);
  EXPECT_TRUE(IsHeld());
}

TEST_F(ClockGuardTest, AnOperatorKnowsBetter) {
  clock_.Step(450 * kDay);
  EXPECT_TRUE(guard_->Confirm());  // before anything else has noticed
  EXPECT_EQ(guard_->Now(), clock_.Now());
  EXPECT_FALSE(guard_->Confirm());
  // Also after a restart.
  Restart(absl::Minutes(30));
  EXPECT_FALSE(IsHeld());
}

TEST_F(ClockGuardTest, ARestartWithinAnHourIsNoJump) {
  Pass(kDay);
  Restart(kHour);
  EXPECT_FALSE(IsHeld());
  // At most ten minutes later than it said last.
  clock_.Advance(absl::Minutes(5));
  Crash(absl::Minutes(50));
  EXPECT_FALSE(IsHeld());
}

TEST_F(ClockGuardTest, FindsAJumpThatCameWhileItWasStopped) {
  Pass(kDay);
  guard_.reset();
  clock_.Step(450 * kDay);
  Start();
  EXPECT_TRUE(IsHeld());
  EXPECT_EQ(guard_->hold()->jump, 450 * kDay);
  Pass(kDay);
  EXPECT_FALSE(IsHeld());
}

// It cannot be told from a jump.
TEST_F(ClockGuardTest, HoldsAfterAnOutage) {
  Restart(7 * kDay);
  EXPECT_TRUE(IsHeld());
  EXPECT_EQ(guard_->hold()->jump, 7 * kDay);
}

// Batches that came meanwhile say that it is as late as the clock says.
TEST_F(ClockGuardTest, ARestartDoesNotMakeAWrongClockRight) {
  Pass(kDay);
  clock_.Step(450 * kDay);
  testing::DiskAgent agent(&store_);
  agent.Ticks(1, 10, {{agent.Disk("C:"), 1}});
  ASSERT_OK(agent.Send(clock_.Now()));
  Crash(absl::Minutes(1));
  EXPECT_TRUE(IsHeld());
  Restart(absl::Minutes(1));
  EXPECT_TRUE(IsHeld());
  // And it is right again when it is.
  guard_.reset();
  clock_.Step(-450 * kDay);
  Start();
  EXPECT_FALSE(IsHeld());
}

// A store of an earlier version.
TEST(ClockGuard, GoesByTheNewestBatchIfTheStoreKnowsNothingBetter) {
  testing::SimulatedClock clock;
  for (const bool is_in_log : {true, false}) {
    testing::TestStore store;
    EXPECT_EQ(store->KnownTime(), std::nullopt);
    testing::DiskAgent agent(&store);
    agent.Ticks(1, 10, {{agent.Disk("C:"), 1}});
    const absl::Time received = clock.Now() - absl::Minutes(20);
    ASSERT_OK(agent.Send(received - 2 * kHour));
    agent.Ticks(11, 20, {{agent.Disk("C:"), 1}});
    ASSERT_OK(agent.Send(received));
    if (!is_in_log) {
      ASSERT_OK(store.Compact());
    }
    store.Reopen();
    // What is no longer in the log is known by its hour.
    ASSERT_TRUE(store->KnownTime().has_value());
    EXPECT_LE(*store->KnownTime(), received);
    EXPECT_GT(*store->KnownTime(),
              received - (is_in_log ? absl::Nanoseconds(1) : kHour));
    clock.Step(kDay);
    {
      ClockGuard guard(&*store, &clock);
      EXPECT_FALSE(guard.Now().has_value());
    }
    clock.Step(-kDay);
    ClockGuard guard(&*store, &clock);
    EXPECT_EQ(guard.Now().has_value(), true) << is_in_log;
    EXPECT_EQ(store->KnownTime(), clock.Now());
  }
}

TEST(ClockGuard, ANewStoreHasNothingToLose) {
  testing::SimulatedClock clock;
  testing::TestStore store;
  ClockGuard guard(&*store, &clock);
  EXPECT_EQ(guard.Now(), clock.Now());
}

}  // namespace
}  // namespace fleetperf::aggregator
