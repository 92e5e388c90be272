#include "cli/times.h"

#include "absl/strings/str_cat.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "base/text/units.h"
#include "cli/local_zone.h"

namespace fleetperf::cli {
namespace {

absl::TimeZone& Zone() {
  static absl::TimeZone zone = absl::UTCTimeZone();
  return zone;
}

absl::Status OfFlag(absl::string_view flag, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(flag, ": ", status.message()));
}

}  // namespace

absl::Status UseLocalTimes() {
  ASSIGN_OR_RETURN(Zone(), LocalZone());
  return absl::OkStatus();
}

absl::TimeZone UserZone() { return Zone(); }

std::string TimeText(absl::Time time) { return FormatInZone(time, UserZone()); }

std::string SpreadsheetTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%E3S", time, UserZone());
}

std::string DurationText(absl::Duration duration) {
  if (duration < absl::ZeroDuration()) {
    return absl::StrCat("-", DurationText(-duration));
  }
  if (duration < absl::Minutes(1)) return absl::FormatDuration(duration);
  absl::Duration rest = absl::Trunc(duration, absl::Seconds(1));
  const int64_t days = absl::IDivDuration(rest, absl::Hours(24), &rest);
  if (days == 0) return absl::FormatDuration(rest);
  return absl::StrCat(
      days, "d", rest > absl::ZeroDuration() ? absl::FormatDuration(rest) : "");
}

std::string RoundDurationText(absl::Duration duration) {
  return DurationText(
      absl::Floor(duration + absl::Milliseconds(500), absl::Seconds(1)));
}

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
