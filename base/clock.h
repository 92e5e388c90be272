// The clocks, behind an interface that tests replace.

#ifndef FLEETPERF_BASE_CLOCK_H_
#define FLEETPERF_BASE_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"

namespace fleetperf {

class Wakeup;

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

 private:
  friend class Wakeup;
  // Blocks until `wakeup` has had more than so many notifications or
  // Monotonic() has reached `deadline`, but may return before. Whether
  // `deadline` has passed.
  virtual bool Block(Wakeup* wakeup, uint64_t notifications,
                     absl::Duration deadline) const;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CLOCK_H_
