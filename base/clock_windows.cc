#include <windows.h>

#include <cstdint>

#include "base/clock.h"

namespace fleetperf {
namespace {

absl::Duration DurationOf(int64_t ticks, int64_t ticks_per_second) {
  // In two parts: the product of all ticks would overflow.
  return absl::Seconds(ticks / ticks_per_second) +
         absl::Seconds(1) * (ticks % ticks_per_second) / ticks_per_second;
}

class RealClock : public Clock {
 public:
  absl::Time Now() const override {
    constexpr int64_t kFileTimeFrequency = 10'000'000;
    FILETIME time;
    GetSystemTimePreciseAsFileTime(&time);
    const int64_t since_1601 =
        int64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime;
    return absl::FromCivil(absl::CivilDay(1601, 1, 1), absl::UTCTimeZone()) +
           DurationOf(since_1601, kFileTimeFrequency);
  }

  absl::Duration Monotonic() const override {
    LARGE_INTEGER frequency;
    LARGE_INTEGER counter;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&counter);
    return DurationOf(counter.QuadPart, frequency.QuadPart);
  }
};

}  // namespace

const Clock& Clock::Real() {
  static const RealClock clock;
  return clock;
}

}  // namespace fleetperf
