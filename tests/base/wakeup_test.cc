#include "base/wakeup.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/os/clock.h"
#include "tests/support/simulated_clock.h"

namespace fleetperf {
namespace {

using testing::SimulatedClock;

// A thread that waits for `value` to be set.
class Waiter {
 public:
  Waiter(const Clock* clock, absl::Duration timeout)
      : wakeup_(clock), thread_([this, timeout] {
          absl::MutexLock lock(&mutex_);
          result_ = wakeup_.Await(&mutex_, timeout, [this] {
            mutex_.AssertHeld();
            return value_;
          });
        }) {}

  void Set() {
    absl::MutexLock lock(&mutex_);
    value_ = true;
    wakeup_.Notify();
  }
  void NotifyInVain() { wakeup_.Notify(); }
  bool Join() {
    thread_.join();
    absl::MutexLock lock(&mutex_);
    return result_;
  }

 private:
  absl::Mutex mutex_;
  Wakeup wakeup_;
  bool value_ ABSL_GUARDED_BY(mutex_) = false;
  bool result_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

TEST(Wakeup, WaitsUntilItIsNotified) {
  Waiter waiter(&Clock::Real(), absl::InfiniteDuration());
  waiter.NotifyInVain();
  waiter.Set();
  EXPECT_TRUE(waiter.Join());
}

TEST(Wakeup, TimesOutAtTheDeadline) {
  const Clock& clock = Clock::Real();
  for (const absl::Duration timeout :
       {-absl::InfiniteDuration(), -absl::Seconds(1), absl::ZeroDuration(),
        absl::Microseconds(100), absl::Milliseconds(20)}) {
    const absl::Duration start = clock.Monotonic();
    Waiter waiter(&clock, timeout);
    EXPECT_FALSE(waiter.Join());
    EXPECT_GE(clock.Monotonic() - start, timeout);
  }
}

TEST(Wakeup, UsesTheMonotonicClock) {
  SimulatedClock clock(SimulatedClock::Waits::kSimulated);
  Waiter waiter(&clock, absl::Minutes(1));
  clock.AwaitWaiting(absl::Minutes(1));
  clock.Step(-absl::Hours(1));
  clock.Advance(absl::Seconds(20));
  clock.AwaitWaiting(absl::Seconds(40));
  clock.Step(absl::Hours(2));
  clock.Advance(absl::Seconds(40));
  EXPECT_FALSE(waiter.Join());
}

TEST(Wakeup, IgnoresTheWallClock) {
  SimulatedClock clock(SimulatedClock::Waits::kSimulated);
  Waiter waiter(&clock, absl::Minutes(1));
  clock.AwaitWaiting(absl::Minutes(1));
  clock.Step(absl::Hours(2));
  waiter.NotifyInVain();
  waiter.Set();
  EXPECT_TRUE(waiter.Join());
}

TEST(Wakeup, WakesOneOfTwo) {
  absl::Mutex mutex;
  Wakeup wakeup;
  int tasks = 0;
  const auto take = [&] {
    absl::MutexLock lock(&mutex);
    wakeup.Await(&mutex, [&] { return tasks > 0; });
    --tasks;
  };
  std::thread one(take);
  std::thread other(take);
  for (int i = 0; i < 2; ++i) {
    absl::MutexLock lock(&mutex);
    ++tasks;
    wakeup.NotifyOne();
  }
  one.join();
  other.join();
  EXPECT_EQ(tasks, 0);
}

}  // namespace
}  // namespace fleetperf
