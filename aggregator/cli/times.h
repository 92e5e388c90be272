// Times as users read and write them: UTC, or local with --local.

#ifndef FLEETPERF_AGGREGATOR_CLI_TIMES_H_
#define FLEETPERF_AGGREGATOR_CLI_TIMES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf::cli {

// Makes UserZone() the local zone (--local). Must be called before the command.
void UseLocalTimes();

// The zone of all times that users read and write.
absl::TimeZone UserZone();

// Returns RFC 3339 in UserZone().
std::string TimeText(absl::Time time);

// Parses the time of a flag, as ParseTime does. Errors name the flag.
absl::StatusOr<absl::Time> ParseTimeFlag(absl::string_view flag,
                                         absl::string_view text);

// Parses the duration of a flag. Errors name the flag.
absl::StatusOr<absl::Duration> ParseDurationFlag(absl::string_view flag,
                                                 absl::string_view text);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_TIMES_H_
