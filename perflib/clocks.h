// The three clocks that PerfLib stamps on every block, and their relation to
// absl::Time.

#ifndef FLEETPERF_PERFLIB_CLOCKS_H_
#define FLEETPERF_PERFLIB_CLOCKS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "perflib/layout.h"

namespace fleetperf::perflib {

struct Clocks {
  int64_t perf_time_stamp = 0;    // ticks of a monotonic clock
  int64_t perf_time_100nsec = 0;  // UTC, 100 ns units since 1601-01-01
  int64_t perf_freq = 0;          // ticks of perf_time_stamp per second

  bool operator==(const Clocks&) const = default;
};

// Units of PerfTime100NSec.
inline constexpr int64_t k100NSecPerSecond = 10'000'000;
// PerfFreq of every Linux block, as on current Windows.
inline constexpr int64_t kLinuxPerfFreq = k100NSecPerSecond;

// Exact for every PerfTime100NSec. The inverse rounds towards zero and
// saturates.
absl::Time TimeFromPerfTime100NSec(int64_t perf_time_100nsec);
int64_t PerfTime100NSecFromTime(absl::Time time);

// Returns the clocks that Linux machines stamp on a block.
inline Clocks LinuxClocks(absl::Duration monotonic, absl::Time now) {
  return {.perf_time_stamp = monotonic / absl::Nanoseconds(100),
          .perf_time_100nsec = PerfTime100NSecFromTime(now),
          .perf_freq = kLinuxPerfFreq};
}

// Returns the wall clock time.
inline absl::Time TimeOf(const Clocks& clocks) {
  return TimeFromPerfTime100NSec(clocks.perf_time_100nsec);
}

// Returns the UTC calendar time of `perf_time_100nsec`, as in PERF_DATA_HEADER.
SystemTime SystemTimeFromPerfTime100NSec(int64_t perf_time_100nsec);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_CLOCKS_H_
