// The way to wait for a condition, but not longer than a time by a clock that
// never steps. The waits of Abseil end by the time of day, and last longer by
// as much as that is set back; nothing but this waits in fleetperf.

#ifndef FLEETPERF_BASE_WAKEUP_H_
#define FLEETPERF_BASE_WAKEUP_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace fleetperf {

// Belongs to a mutex. Thread-safe.
class Wakeup {
 public:
  // `clock` outlives this.
  explicit Wakeup(const Clock* clock = &Clock::Real()) : clock_(*clock) {}
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  // Must be called with each change of what waiters wait for: with the mutex
  // held, or after releasing it if the waiters do not destroy this.
  void Notify();
  // Wakes one waiter. For changes of which one waiter makes use, when all wait
  // for the same.
  void NotifyOne();

  // Waits until `done()`, which is called with `mutex` held, or until
  // Clock::Monotonic() has gone on by `timeout`. Returns done().
  template <typename Done>
  bool Await(absl::Mutex* mutex, absl::Duration timeout, Done done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const absl::Duration deadline = clock_.Monotonic() + timeout;
    bool in_time = true;
    while (!done()) {
      if (!in_time) return false;
      in_time = Block(mutex, deadline);
    }
    return true;
  }
  // Waits as long as it takes.
  template <typename Done>
  void Await(absl::Mutex* mutex, Done done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    while (!done()) Block(mutex, absl::InfiniteDuration());
  }

  // For clocks: blocks until there were more than so many notifications, or for
  // `timeout` by the machine's clock. False in the latter case.
  bool BlockFor(uint64_t notifications, absl::Duration timeout);

 private:
  // False if `deadline` has passed.
  bool Block(absl::Mutex* mutex, absl::Duration deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  const Clock& clock_;
  // Not Abseil's, whose timeouts go by the time of day.
  std::mutex mutex_;
  std::condition_variable notified_;
  uint64_t notifications_ = 0;  // guarded by mutex_
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_WAKEUP_H_
