// Keeps a wrong clock from removing what is stored.

#ifndef FLEETPERF_AGGREGATOR_MAINTENANCE_CLOCK_GUARD_H_
#define FLEETPERF_AGGREGATOR_MAINTENANCE_CLOCK_GUARD_H_

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/store/store.h"
#include "base/clock.h"
#include "base/logging.h"

namespace fleetperf::aggregator {

// A jump of the clock is an advance of the time of day by an hour more than
// something else explains: while this exists, the monotonic clock; before, that
// is at the start, the last time that the store knows to have been right. After
// one, the time of day is not to be relied on for 24 hours of the monotonic
// clock, or until somebody says that it is right. What an aggregator was
// stopped for cannot be told from a jump.
//
// Jumps are logged, as is their end. Thread-safe.
class ClockGuard {
 public:
  // Both outlive this.
  ClockGuard(Store* store, const Clock* clock);
  // Has the store know the time, unless it is on hold.
  ~ClockGuard();

  // The time of day if samples may be removed by it. Looks for jumps, so it is
  // to be called some times a minute, and what it returns is to be used and not
  // the clock.
  std::optional<absl::Time> Now();

  struct Hold {
    absl::Duration jump;  // how much of the advance nothing explains
    absl::Duration left;  // until the time of day is relied on again
  };
  // Nothing unless a jump is on hold.
  std::optional<Hold> hold();

  // Says that the time of day is right. False if it was relied on anyway.
  bool Confirm();

 private:
  // How far the time of day is ahead of the monotonic clock.
  using Offset = absl::Time;

  struct Reading {
    absl::Time now;
    absl::Duration monotonic;
    Offset offset() const { return now - monotonic; }
  };

  // Reads the clocks, and begins or ends a hold.
  Reading Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Trust(const Reading& reading) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(const Reading& reading) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Store& store_;
  const Clock& clock_;
  LogOncePerCause log_;
  absl::Mutex mutex_;
  // What later readings are compared with. The rest is Clock::Monotonic().
  Offset offset_ ABSL_GUARDED_BY(mutex_);
  absl::Duration trusted_at_ ABSL_GUARDED_BY(mutex_);
  absl::Duration next_keeping_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Duration> held_until_ ABSL_GUARDED_BY(mutex_);
  absl::Duration jump_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_MAINTENANCE_CLOCK_GUARD_H_
