// The running total of an event that takes turns on the PMU.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_SCALED_TOTAL_H_
#define FLEETPERF_DRIVER_PERF_EVENT_SCALED_TOTAL_H_

#include <cstdint>

namespace fleetperf::perf_event {

// Scales the growth between two readings by the times of the same period, so
// that the total never falls: Scaled() of a later reading can be below that of
// an earlier one. Keeps fractions. Thread-compatible.
class ScaledTotal {
 public:
  // Adds a reading of the event: its count, and how long it was enabled and
  // running, in ns. Growth counts from the first reading on. A period in which
  // the event did not run is added together with the next one. A reading below
  // the last one is that of another event, from 0.
  void Add(uint64_t count, uint64_t time_enabled, uint64_t time_running);

  // Whether the event ever ran, or was never enabled, as those of a cgroup are
  // while no process of it runs: then its count is 0.
  bool is_known() const { return is_known_; }
  uint64_t total() const { return total_; }
  // Of all periods, in ns.
  uint64_t time_enabled() const { return total_enabled_; }
  uint64_t time_running() const { return total_running_; }

 private:
  bool is_known_ = false;
  uint64_t total_ = 0;
  uint64_t fraction_ = 0;  // in 2^-64
  uint64_t total_enabled_ = 0;
  uint64_t total_running_ = 0;
  // The last reading, and that of the start of the period to scale.
  uint64_t last_enabled_ = 0;
  uint64_t last_running_ = 0;
  uint64_t start_count_ = 0;
  uint64_t start_enabled_ = 0;
  uint64_t start_running_ = 0;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_SCALED_TOTAL_H_
