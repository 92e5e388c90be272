// Waiting for a condition, but not longer than a time by the clock that never
// steps. Abseil's own waits end by the time of day, and last longer by as much
// as that is set back.

#ifndef FLEETPERF_BASE_WAKEUP_H_
#define FLEETPERF_BASE_WAKEUP_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace fleetperf {

// Belongs to a mutex. Thread-safe.
class Wakeup {
 public:
  // Whoever changes what a waiter waits for must call this, with the mutex held
  // or after releasing it.
  void Notify() { changed_.notify_all(); }

  // Waits until `done()`, which is called with `mutex` held, or until `timeout`
  // has passed. Returns done().
  template <typename Done>
  bool Await(absl::Mutex* mutex, absl::Duration timeout, Done done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    constexpr absl::Duration kLongest = absl::Hours(24 * 365);
    const auto deadline =
        std::chrono::steady_clock::now() +
        absl::ToChronoNanoseconds(std::min(timeout, kLongest));
    Lockable lockable{*mutex};
    return changed_.wait_until(lockable, deadline, done);
  }

 private:
  // The standard library's names for a mutex' functions.
  struct Lockable {
    absl::Mutex& mutex;
    void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) { mutex.Lock(); }
    void unlock() ABSL_UNLOCK_FUNCTION(mutex) { mutex.Unlock(); }
  };

  std::condition_variable_any changed_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_WAKEUP_H_
