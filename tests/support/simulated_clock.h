// A clock that a test controls.

#ifndef FLEETPERF_TESTS_SUPPORT_SIMULATED_CLOCK_H_
#define FLEETPERF_TESTS_SUPPORT_SIMULATED_CLOCK_H_

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/os/clock.h"
#include "base/wakeup.h"

namespace fleetperf::testing {

// A wall clock and a monotonic clock that stand still until a test advances
// them. Thread-safe.
class SimulatedClock : public Clock {
 public:
  // The end of timed waits.
  enum class Waits {
    kReal,       // after the same duration of the machine's clock
    kSimulated,  // once this clock has reached the deadline
  };

  explicit SimulatedClock(Waits waits = Waits::kReal) : waits_(waits) {}

  absl::Time Now() const override {
    absl::MutexLock lock(&mutex_);
    return now_;
  }
  absl::Duration Monotonic() const override {
    absl::MutexLock lock(&mutex_);
    return monotonic_;
  }

  // Advances both clocks.
  void Advance(absl::Duration duration) {
    absl::MutexLock lock(&mutex_);
    now_ += duration;
    monotonic_ += duration;
    for (const auto& [deadline, wakeup] : waiting_) {
      if (deadline <= monotonic_) wakeup->Notify();
    }
  }
  // Steps the wall clock only.
  void Step(absl::Duration duration) {
    absl::MutexLock lock(&mutex_);
    now_ += duration;
  }

  // Blocks until a thread waits with exactly this timeout from now, and has
  // thus finished its work before the wait. Requires Waits::kSimulated.
  void AwaitWaiting(absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    const auto is_waiting = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& w) {
        return w.first == monotonic_ + timeout;
      });
    };
    mutex_.Await(absl::Condition(&is_waiting));
  }

 private:
  bool Block(Wakeup* wakeup, uint64_t notifications,
             absl::Duration deadline) const override {
    if (waits_ == Waits::kReal) {
      return !wakeup->BlockFor(notifications, deadline - Monotonic());
    }
    std::multiset<std::pair<absl::Duration, Wakeup*>>::iterator entry;
    {
      absl::MutexLock lock(&mutex_);
      if (deadline <= monotonic_) return true;
      entry = waiting_.emplace(deadline, wakeup);
    }
    wakeup->BlockFor(notifications, absl::InfiniteDuration());
    absl::MutexLock lock(&mutex_);
    waiting_.erase(entry);
    return false;
  }

  const Waits waits_;
  mutable absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) =
      absl::FromUnixSeconds(1'800'000'000);
  absl::Duration monotonic_ ABSL_GUARDED_BY(mutex_) = absl::Hours(1);
  // Blocked threads by deadline.
  mutable std::multiset<std::pair<absl::Duration, Wakeup*>> waiting_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_SIMULATED_CLOCK_H_
