// Computes when ticks are due: at multiples of the interval from the start, so
// that a slow tick does not shift later ones.

#ifndef FLEETPERF_AGENT_COLLECT_SCHEDULE_H_
#define FLEETPERF_AGENT_COLLECT_SCHEDULE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace fleetperf::agent {

// Times are Clock::Monotonic(). Thread-compatible.
class Schedule {
 public:
  // The first tick is due at `start`.
  Schedule(absl::Duration start, absl::Duration interval)
      : due_(start), interval_(interval) {}

  absl::Duration due() const { return due_; }

  // Moves to the first tick after `now`, once the due tick has been taken.
  // Returns the number of ticks skipped, which are never taken.
  int64_t Advance(absl::Duration now) {
    due_ += interval_;
    if (due_ > now) return 0;
    absl::Duration rest;
    const int64_t missed = absl::IDivDuration(now - due_, interval_, &rest) + 1;
    due_ += missed * interval_;
    return missed;
  }

 private:
  absl::Duration due_;
  absl::Duration interval_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_SCHEDULE_H_
