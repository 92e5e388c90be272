// Waits for a condition with a timeout on the monotonic clock. Abseil's
// timeouts use the wall clock, so they last longer when it is set back. All
// waits in fleetperf use this class.

#ifndef FLEETPERF_BASE_WAKEUP_H_
#define FLEETPERF_BASE_WAKEUP_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/os/clock.h"

namespace fleetperf {

// A condition variable for one mutex. Thread-safe.
class Wakeup {
 public:
  // `clock` must outlive the object.
  explicit Wakeup(const Clock* clock = &Clock::Real()) : clock_(*clock) {}
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  // Must be called after each change of the awaited condition: with the mutex
  // held, or after its release if no waiter destroys this object.
  void Notify();
  // Wakes one waiter. For changes that only one of several equal waiters can
  // use.
  void NotifyOne();

  // Blocks until `done()`, which is called with `mutex` held, or until
  // Clock::Monotonic() has advanced by `timeout`. Returns done().
  template <typename Done>
  bool Await(absl::Mutex* mutex, absl::Duration timeout, Done done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return AwaitUntil(mutex, clock_.Monotonic() + timeout, done);
  }
  // The same until Clock::Monotonic() is `deadline`.
  template <typename Done>
  bool AwaitUntil(absl::Mutex* mutex, absl::Duration deadline, Done done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    bool in_time = true;
    while (!done()) {
      if (!in_time) return false;
      in_time = Block(mutex, deadline);
    }
    return true;
  }
  // Blocks without a timeout.
  template <typename Done>
  void Await(absl::Mutex* mutex, Done done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    while (!done()) Block(mutex, absl::InfiniteDuration());
  }

  // For clocks: blocks until there are more than `notifications` notifications,
  // or for `timeout` on the machine's clock. Returns false after a timeout.
  bool BlockFor(uint64_t notifications, absl::Duration timeout);

 private:
  // Returns false if `deadline` has passed.
  bool Block(absl::Mutex* mutex, absl::Duration deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  const Clock& clock_;
  // Instead of absl::Mutex, whose timeouts use the wall clock.
  std::mutex mutex_;
  std::condition_variable notified_;
  uint64_t notifications_ = 0;  // guarded by mutex_
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_WAKEUP_H_
