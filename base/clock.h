// The clocks, behind an interface that tests replace.

#ifndef FLEETPERF_BASE_CLOCK_H_
#define FLEETPERF_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace fleetperf {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // The time of day. It can step.
  virtual absl::Time Now() const = 0;

  // Time since a fixed moment of the past. Never steps and is not slewed.
  virtual absl::Duration Monotonic() const = 0;

  // This machine's clocks.
  static const Clock& Real();
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CLOCK_H_
