// Prevents a wrong clock from removing stored samples.
//
// Invariants:
// - The clock has jumped if the time of day is more than an hour ahead of the
//   expected time. While the guard exists, the expected time follows the
//   monotonic clock and is realigned every 24 hours, so small steps add up for
//   a day at most. At the start, the expected time is the last time that the
//   store recorded as right.
// - After a jump, the time of day is on hold for 24 hours of the monotonic
//   clock, or until an operator confirms it. Another jump restarts the hold.
// - The time of day is never recorded as right during a hold, so a restart does
//   not end a hold.
// - A step back is not a jump. The expected time follows it, so stepping ahead
//   again may be one.
//
// Downtime of the aggregator or the machine looks like a jump.

#ifndef FLEETPERF_AGGREGATOR_MAINTENANCE_CLOCK_GUARD_H_
#define FLEETPERF_AGGREGATOR_MAINTENANCE_CLOCK_GUARD_H_

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/store/store.h"
#include "base/logging.h"
#include "base/os/clock.h"

namespace fleetperf::aggregator {

// Detects jumps of the clock. Logs each jump and the end of each hold.
// Thread-safe.
class ClockGuard {
 public:
  // Both arguments must outlive the guard.
  ClockGuard(Store* store, const Clock* clock);
  // Records the time in the store, unless the time is on hold.
  ~ClockGuard();

  // Returns the time of day, or std::nullopt during a hold. Must be called
  // several times a minute, because it detects jumps. Callers that remove
  // samples by age must use the result, not the clock, which may have jumped
  // since.
  std::optional<absl::Time> Now();

  struct Hold {
    absl::Duration jump;  // the advance beyond the expected time
    absl::Duration left;  // until the end of the hold
  };
  // std::nullopt if there is no hold.
  std::optional<Hold> hold();

  // Confirms that the time of day is right, which ends a hold. Returns false if
  // there is none.
  bool Confirm();

 private:
  // The time of day minus the monotonic clock.
  using Offset = absl::Time;

  struct Reading {
    absl::Time now;
    absl::Duration monotonic;
    Offset offset() const { return now - monotonic; }
  };

  // Reads the clocks. Begins or ends a hold if due.
  Reading Update() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes `reading` the base of comparison for later readings.
  void Trust(const Reading& reading) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records the time of day as right in the store.
  void RecordTime(const Reading& reading) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Store& store_;
  const Clock& clock_;
  LogOncePerCause log_;
  absl::Mutex mutex_;
  Offset offset_ ABSL_GUARDED_BY(mutex_);  // of the last trusted reading
  // The next three are in Clock::Monotonic().
  absl::Duration trusted_at_ ABSL_GUARDED_BY(mutex_);
  absl::Duration next_recording_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Duration> held_until_ ABSL_GUARDED_BY(mutex_);
  absl::Duration jump_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_MAINTENANCE_CLOCK_GUARD_H_
