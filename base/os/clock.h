// The clocks, behind an interface that tests can fake.

#ifndef FLEETPERF_BASE_OS_CLOCK_H_
#define FLEETPERF_BASE_OS_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"

namespace fleetperf {

class Wakeup;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Returns the wall clock time, which can step.
  virtual absl::Time Now() const = 0;

  // Returns the time since a fixed moment. The clock is monotonic and not
  // slewed.
  virtual absl::Duration Monotonic() const = 0;

  // Returns the machine's clocks.
  static const Clock& Real();

 private:
  friend class Wakeup;
  // Blocks until `wakeup` has more than `notifications` notifications or
  // Monotonic() has reached `deadline`. May return earlier. Returns whether
  // `deadline` has passed.
  virtual bool Block(Wakeup* wakeup, uint64_t notifications,
                     absl::Duration deadline) const;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_CLOCK_H_
