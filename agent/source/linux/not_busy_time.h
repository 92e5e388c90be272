// The raw value of % Processor Time: the time in which a CPU was not busy.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NOT_BUSY_TIME_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NOT_BUSY_TIME_H_

#include <cstdint>
#include <optional>

#include "perflib/clocks.h"

namespace fleetperf::agent {

// The time that has passed, by the wall clock, which the aggregator divides
// by. A step of that clock counts as the time that really passed: the
// aggregator calculates nothing across it.
class ElapsedTime {
 public:
  // Returns the time from the last call until `now` in units of 100 ns; 0 the
  // first time.
  int64_t Advance(const perflib::Clocks& now);

 private:
  std::optional<perflib::Clocks> last_;
};

// PERF_100NSEC_TIMER_INV shows elapsed less idle time. The kernel's idle time
// would not do: it and the busy times do not add up to the elapsed time, for
// example under hypervisors, and the missing time would count as busy. This
// value is the elapsed time less the busy times, so that the counter shows the
// sum of the busy times.
//
// The busy times are read a moment after the clock and advance in steps, so
// they can be ahead of it. The excess is taken from the next time, and the
// value never decreases.
class NotBusyTime {
 public:
  // Begins to count, also after a time that was not observed. `busy` is the sum
  // of the CPU's busy times. All times are in units of 100 ns.
  void Start(uint64_t busy);
  // Counts the time since the last call. `busy` has not fallen, and its growth
  // is possible: see time_bound.h.
  void Add(int64_t elapsed, uint64_t busy);

  // Starts at 0.
  uint64_t value() const { return value_; }

 private:
  uint64_t busy_ = 0;
  int64_t ahead_ = 0;
  uint64_t value_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NOT_BUSY_TIME_H_
