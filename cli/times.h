// Times as users read and write them: UTC, or local with --local.

#ifndef FLEETPERF_CLI_TIMES_H_
#define FLEETPERF_CLI_TIMES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf::cli {

// Makes UserZone() the local zone (--local). Must be called before the command.
// Returns NotFound if the zone is unknown.
absl::Status UseLocalTimes();

// The zone of all times that users read and write.
absl::TimeZone UserZone();

// Returns RFC 3339 in UserZone().
std::string TimeText(absl::Time time);

// Returns "2026-11-20 21:49:06.000" in UserZone(), which spreadsheets read as a
// time.
std::string SpreadsheetTime(absl::Time time);

// Returns "7d", "1d2h3m4s" or "1.5s": in days from 24 hours on, and in whole
// seconds from a minute on.
std::string DurationText(absl::Duration duration);
// Same, rounded to whole seconds: for lengths that were measured.
std::string RoundDurationText(absl::Duration duration);

// Parses the time of a flag, as ParseTime does. Errors name the flag.
absl::StatusOr<absl::Time> ParseTimeFlag(absl::string_view flag,
                                         absl::string_view text);

// Parses the duration of a flag. Errors name the flag.
absl::StatusOr<absl::Duration> ParseDurationFlag(absl::string_view flag,
                                                 absl::string_view text);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_TIMES_H_
