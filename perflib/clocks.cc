#include "perflib/clocks.h"

namespace fleetperf::perflib {
namespace {

// 1601-01-01 to 1970-01-01: 369 years with 89 leap days.
constexpr int64_t kSecondsFrom1601To1970 = 11'644'473'600;

}  // namespace

absl::Time TimeFromPerfTime100NSec(int64_t perf_time_100nsec) {
  const int64_t seconds = perf_time_100nsec / k100NSecPerSecond;
  const int64_t rest = perf_time_100nsec % k100NSecPerSecond;
  return absl::FromUnixSeconds(seconds - kSecondsFrom1601To1970) +
         absl::Nanoseconds(rest * 100);
}

int64_t PerfTime100NSecFromTime(absl::Time time) {
  const absl::Duration since_1601 =
      time - absl::UnixEpoch() + absl::Seconds(kSecondsFrom1601To1970);
  absl::Duration rest;
  return absl::IDivDuration(since_1601, absl::Nanoseconds(100),
                            &rest);  // saturates
}

SystemTime SystemTimeFromPerfTime100NSec(int64_t perf_time_100nsec) {
  const absl::Time time = TimeFromPerfTime100NSec(perf_time_100nsec);
  const absl::TimeZone::CivilInfo civil = absl::UTCTimeZone().At(time);
  return {
      .year = static_cast<uint16_t>(civil.cs.year()),
      .month = static_cast<uint16_t>(civil.cs.month()),
      // SYSTEMTIME weeks start on Sunday, absl weeks on Monday.
      .day_of_week = static_cast<uint16_t>(
          (static_cast<int>(absl::GetWeekday(civil.cs)) + 1) % 7),
      .day = static_cast<uint16_t>(civil.cs.day()),
      .hour = static_cast<uint16_t>(civil.cs.hour()),
      .minute = static_cast<uint16_t>(civil.cs.minute()),
      .second = static_cast<uint16_t>(civil.cs.second()),
      .milliseconds =
          static_cast<uint16_t>(absl::ToInt64Milliseconds(civil.subsecond)),
  };
}

}  // namespace fleetperf::perflib
