// Clocks that a test sets.

#ifndef FLEETPERF_TESTS_SUPPORT_SIMULATED_CLOCK_H_
#define FLEETPERF_TESTS_SUPPORT_SIMULATED_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace fleetperf::testing {

// Thread-safe.
class SimulatedClock : public Clock {
 public:
  absl::Time Now() const override {
    absl::MutexLock lock(&mutex_);
    return now_;
  }
  absl::Duration Monotonic() const override {
    absl::MutexLock lock(&mutex_);
    return monotonic_;
  }

  // Both clocks go on.
  void Advance(absl::Duration duration) {
    absl::MutexLock lock(&mutex_);
    now_ += duration;
    monotonic_ += duration;
  }
  // The time of day is set.
  void Step(absl::Duration duration) {
    absl::MutexLock lock(&mutex_);
    now_ += duration;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) =
      absl::FromUnixSeconds(1'800'000'000);
  absl::Duration monotonic_ ABSL_GUARDED_BY(mutex_) = absl::Hours(1);
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_SIMULATED_CLOCK_H_
