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
  // Restarts the aggregator after `pause`, during which its machine is up.
  void Restart(absl::Duration pause) {
    guard_.reset();
    clock_.Advance(pause);
    store_.Reopen();
    Start();
  }
  // Like Restart, but the aggregator is killed, so its end does not record the
  // time in the store.
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
  // Advances the clock and calls the guard periodically.
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

TEST_F(ClockGuardTest, TrustsARegularClock) {
  const testing::LogCapture log;
  EXPECT_EQ(guard_->Now(), clock_.Now());
  Pass(3 * kDay);
  clock_.Advance(30 * kDay);  // without a call to the guard
  EXPECT_EQ(guard_->Now(), clock_.Now());
  EXPECT_FALSE(guard_->hold().has_value());
  EXPECT_FALSE(guard_->Confirm());
  EXPECT_THAT(log.Lines(), IsEmpty());
}

TEST_F(ClockGuardTest, ToleratesSmallStepsAndDrift) {
  // Steps ten minutes ahead every day for a year, then a whole hour at once.
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

TEST_F(ClockGuardTest, HoldsAfterAnAdvanceOfMoreThanAnHour) {
  clock_.Step(kHour + absl::Seconds(1));
  EXPECT_TRUE(IsHeld());
}

TEST_F(ClockGuardTest, AddsUpSmallStepsWithinADay) {
  clock_.Step(absl::Minutes(40));
  Pass(kHour);
  EXPECT_FALSE(IsHeld());
  clock_.Step(absl::Minutes(40));
  EXPECT_TRUE(IsHeld());
}

TEST_F(ClockGuardTest, KeepsHoldingWhenTheClockIsSetBack) {
  clock_.Step(450 * kDay);
  EXPECT_TRUE(IsHeld());
  clock_.Advance(absl::Seconds(25));
  clock_.Step(-450 * kDay);
  EXPECT_TRUE(IsHeld());
  Pass(kDay);
  EXPECT_FALSE(IsHeld());
}

TEST_F(ClockGuardTest, RestartsTheHoldAfterAnotherJump) {
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

TEST_F(ClockGuardTest, DoesNotHoldAfterAStepBack) {
  clock_.Step(-450 * kDay);
  EXPECT_FALSE(IsHeld());
  // An advance from there is a jump.
  clock_.Step(450 * kDay);
  EXPECT_TRUE(IsHeld());
}

TEST_F(ClockGuardTest, EndsTheHoldWhenAnOperatorConfirmsTheTime) {
  clock_.Step(450 * kDay);
  EXPECT_TRUE(guard_->Confirm());  // before any other call detects the jump
  EXPECT_EQ(guard_->Now(), clock_.Now());
  EXPECT_FALSE(guard_->Confirm());
  // The time is also trusted after a restart.
  Restart(absl::Minutes(30));
  EXPECT_FALSE(IsHeld());
}

TEST_F(ClockGuardTest, ToleratesARestartWithinAnHour) {
  Pass(kDay);
  Restart(kHour);
  EXPECT_FALSE(IsHeld());
  // The recorded time may be up to ten minutes old.
  clock_.Advance(absl::Minutes(5));
  Crash(absl::Minutes(50));
  EXPECT_FALSE(IsHeld());
}

TEST_F(ClockGuardTest, DetectsAJumpWhileItWasStopped) {
  Pass(kDay);
  guard_.reset();
  clock_.Step(450 * kDay);
  Start();
  EXPECT_TRUE(IsHeld());
  EXPECT_EQ(guard_->hold()->jump, 450 * kDay);
  Pass(kDay);
  EXPECT_FALSE(IsHeld());
}

// An outage looks like a jump.
TEST_F(ClockGuardTest, HoldsAfterAnOutage) {
  Restart(7 * kDay);
  EXPECT_TRUE(IsHeld());
  EXPECT_EQ(guard_->hold()->jump, 7 * kDay);
}

// Batches received during the hold do not confirm the clock.
TEST_F(ClockGuardTest, KeepsHoldingAfterARestart) {
  Pass(kDay);
  clock_.Step(450 * kDay);
  testing::DiskAgent agent(&store_);
  agent.Ticks(1, 10, {{agent.Disk("C:"), 1}});
  ASSERT_OK(agent.Send(clock_.Now()));
  Crash(absl::Minutes(1));
  EXPECT_TRUE(IsHeld());
  Restart(absl::Minutes(1));
  EXPECT_TRUE(IsHeld());
  // The guard trusts the clock once it is right again.
  guard_.reset();
  clock_.Step(-450 * kDay);
  Start();
  EXPECT_FALSE(IsHeld());
}

// The write of the time may have failed, or its record is damaged.
TEST(ClockGuard, UsesTheNewestBatchIfNoTimeWasRecorded) {
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
    // Once a batch has left the log, only its hour is known.
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

TEST(ClockGuard, TrustsTheClockWithANewStore) {
  testing::SimulatedClock clock;
  testing::TestStore store;
  ClockGuard guard(&*store, &clock);
  EXPECT_EQ(guard.Now(), clock.Now());
}

}  // namespace
}  // namespace fleetperf::aggregator
