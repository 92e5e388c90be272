#include <windows.h>

#include <cstdint>

#include "base/os/clock.h"

namespace fleetperf {
namespace {

absl::Duration DurationOf(int64_t ticks, int64_t ticks_per_second) {
  // In two parts, because the product of all ticks would overflow.
  return absl::Seconds(ticks / ticks_per_second) +
         absl::Seconds(1) * (ticks % ticks_per_second) / ticks_per_second;
}

constexpr int64_t kTicksPerSecond = 10'000'000;

class RealClock : public Clock {
 public:
  absl::Time Now() const override {
    FILETIME time;
    GetSystemTimePreciseAsFileTime(&time);
    const int64_t since_1601 =
        int64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime;
    return absl::FromCivil(absl::CivilDay(1601, 1, 1), absl::UTCTimeZone()) +
           DurationOf(since_1601, kTicksPerSecond);
  }

  absl::Duration Monotonic() const override {
    // Excludes the time that the machine sleeps, as on Linux.
    ULONGLONG ticks;
    QueryUnbiasedInterruptTime(&ticks);
    return DurationOf(static_cast<int64_t>(ticks), kTicksPerSecond);
  }
};

}  // namespace

const Clock& Clock::Real() {
  static const RealClock clock;
  return clock;
}

}  // namespace fleetperf
