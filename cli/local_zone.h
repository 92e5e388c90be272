// The local time zone of --local.

#ifndef FLEETPERF_CLI_LOCAL_ZONE_H_
#define FLEETPERF_CLI_LOCAL_ZONE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetperf::cli {

// Returns the zone of the environment variable TZ, or the system's if that is
// not set. Unlike absl::LocalTimeZone, reads TZ in the form of POSIX, and
// returns NotFound for an unknown zone.
absl::StatusOr<absl::TimeZone> LocalZone();

// Linux: returns the zone that a value of TZ means to libc: the name or path of
// a zone file, with or without ":" in front, or the form of POSIX, such as
// "CET-1CEST,M3.5.0,M10.5.0/3".
absl::StatusOr<absl::TimeZone> ZoneOf(const std::string& tz);

// Linux: returns the zone of a zone file, which is the local one without TZ.
absl::StatusOr<absl::TimeZone> SystemZone(const std::string& file);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_LOCAL_ZONE_H_
