// Parses durations and sizes in configuration files and flags.

#ifndef FLEETPERF_BASE_TEXT_UNITS_H_
#define FLEETPERF_BASE_TEXT_UNITS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf {

// Parses "500ms", "10s", "5m", "1h30m", "7d", "2w". Rejects negative durations.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);

// Returns the text with the largest unit that ParseDuration reads as
// `duration`, which must be finite and whole milliseconds: "7d", "90s".
std::string FormatInOneUnit(absl::Duration duration);

// Parses "64MiB", "1GiB", "4096".
absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text);

// Returns the text with the largest unit that ParseByteSize reads as `size`:
// "64MiB".
std::string FormatByteSize(uint64_t size);

// Parses a time: RFC 3339 ("2026-11-20T21:49:00Z"), the same without a zone, a
// date, a time of day (the latest such time that is not after `now`), "now", a
// duration before now ("-5m"), or seconds since 1970. `zone` is that of times
// without a zone.
absl::StatusOr<absl::Time> ParseTime(absl::string_view text, absl::Time now,
                                     absl::TimeZone zone = absl::UTCTimeZone());

// Returns RFC 3339 in a zone, without trailing zeros of the fractional second.
std::string FormatInZone(absl::Time time, absl::TimeZone zone);
// Same in UTC.
std::string FormatUtc(absl::Time time);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TEXT_UNITS_H_
