#include "aggregator/cli/times.h"

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/units.h"

namespace fleetperf::cli {
namespace {

bool& IsLocal() {
  static bool is_local = false;
  return is_local;
}

absl::Status OfFlag(absl::string_view flag, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(flag, ": ", status.message()));
}

}  // namespace

void UseLocalTimes() { IsLocal() = true; }

absl::TimeZone UserZone() {
  return IsLocal() ? absl::LocalTimeZone() : absl::UTCTimeZone();
}

std::string TimeText(absl::Time time) { return FormatInZone(time, UserZone()); }

absl::StatusOr<absl::Time> ParseTimeFlag(absl::string_view flag,
                                         absl::string_view text) {
  auto time = ParseTime(text, Clock::Real().Now(), UserZone());
  return time.ok() ? time : OfFlag(flag, time.status());
}

absl::StatusOr<absl::Duration> ParseDurationFlag(absl::string_view flag,
                                                 absl::string_view text) {
  auto duration = ParseDuration(text);
  return duration.ok() ? duration : OfFlag(flag, duration.status());
}

}  // namespace fleetperf::cli
