#include "base/text/units.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace fleetperf {
namespace {

struct ByteUnit {
  absl::string_view suffix;
  uint64_t factor;
};

// The one without a suffix matches any text, and comes last.
constexpr ByteUnit kByteUnits[] = {{"KiB", uint64_t{1} << 10},
                                   {"MiB", uint64_t{1} << 20},
                                   {"GiB", uint64_t{1} << 30},
                                   {"TiB", uint64_t{1} << 40},
                                   {"", 1}};

absl::Status NotADuration(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is not a duration; write it as in 500ms, 10s, 5m, 1h30m "
                   "or 7d"));
}

// Removes "7d" or "2w" from the front; absl::ParseDuration does not support
// days or weeks.
absl::Duration ConsumeDays(absl::string_view* text) {
  const size_t digits = text->find_first_not_of("0123456789");
  if (digits == 0 || digits == absl::string_view::npos) return {};
  int64_t count;
  if (!absl::SimpleAtoi(text->substr(0, digits), &count)) return {};
  const char unit = (*text)[digits];
  if (unit != 'd' && unit != 'w') return {};
  text->remove_prefix(digits + 1);
  return count * absl::Hours(unit == 'd' ? 24 : 7 * 24);  // saturates
}

// Parses "00:30" or "00:30:15": the latest such time that is not after `now`.
std::optional<absl::Time> ParseTimeOfDay(absl::string_view text, absl::Time now,
                                         absl::TimeZone zone) {
  // The time on the first day of Abseil's parser, 1970-01-01.
  absl::Time parsed;
  if (!absl::ParseTime("%H:%M:%E*S", text, &parsed, nullptr) &&
      !absl::ParseTime("%H:%M", text, &parsed, nullptr)) {
    return std::nullopt;
  }
  const absl::Duration of_day = parsed - absl::UnixEpoch();
  if (of_day < absl::ZeroDuration() || of_day >= absl::Hours(24)) {
    return std::nullopt;
  }
  const absl::CivilSecond clock(1970, 1, 1, 0, 0, absl::ToInt64Seconds(of_day));
  const auto on = [&](absl::CivilDay day) {
    return absl::FromCivil(
               absl::CivilSecond(day.year(), day.month(), day.day(),
                                 clock.hour(), clock.minute(), clock.second()),
               zone) +
           of_day % absl::Seconds(1);
  };
  const absl::CivilDay today = absl::ToCivilDay(now, zone);
  const absl::Time time = on(today);
  return time <= now ? time : on(today - 1);
}

// Parses seconds since 1970.
std::optional<absl::Time> ParseUnixSeconds(absl::string_view text) {
  // Shorter numbers are more likely years or durations without a unit.
  constexpr size_t kLeastDigits = 9;
  const size_t digits =
      std::min(text.find_first_not_of("0123456789"), text.size());
  double seconds;
  if (digits < kLeastDigits || (digits < text.size() && text[digits] != '.') ||
      !absl::SimpleAtod(text, &seconds)) {
    return std::nullopt;
  }
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

}  // namespace

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  absl::string_view rest = text;
  absl::Duration total = ConsumeDays(&rest);
  absl::Duration part;
  if (!rest.empty() || text.empty()) {
    if (!absl::ParseDuration(rest, &part)) return NotADuration(text);
    total += part;
  }
  if (part < absl::ZeroDuration() || total == absl::InfiniteDuration()) {
    return NotADuration(text);
  }
  return total;
}

std::string FormatInOneUnit(absl::Duration duration) {
  const struct {
    const char* suffix;
    absl::Duration size;
  } units[] = {{"d", absl::Hours(24)},
               {"h", absl::Hours(1)},
               {"m", absl::Minutes(1)},
               {"s", absl::Seconds(1)}};
  if (duration == absl::ZeroDuration()) return "0s";
  for (const auto& unit : units) {
    if (duration >= unit.size && duration % unit.size == absl::ZeroDuration()) {
      return absl::StrCat(duration / unit.size, unit.suffix);
    }
  }
  return absl::StrCat(duration / absl::Milliseconds(1), "ms");
}

absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text) {
  for (const ByteUnit& unit : kByteUnits) {
    absl::string_view digits = text;
    if (!absl::ConsumeSuffix(&digits, unit.suffix)) continue;
    uint64_t count;
    if (!absl::SimpleAtoi(digits, &count) ||
        count > std::numeric_limits<uint64_t>::max() / unit.factor) {
      break;
    }
    return count * unit.factor;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not a size; write it as in 4096, 64MiB or 1GiB"));
}

std::string FormatByteSize(uint64_t size) {
  ByteUnit largest = {"", 1};
  for (const ByteUnit& unit : kByteUnits) {
    if (size > 0 && size % unit.factor == 0 && unit.factor > largest.factor) {
      largest = unit;
    }
  }
  return absl::StrCat(size / largest.factor, largest.suffix);
}

absl::StatusOr<absl::Time> ParseTime(absl::string_view text, absl::Time now,
                                     absl::TimeZone zone) {
  if (text == "now") return now;
  absl::string_view before = text;
  if (absl::ConsumePrefix(&before, "-")) {
    const auto duration = ParseDuration(before);
    if (duration.ok()) return now - *duration;
  }
  if (const auto time = ParseTimeOfDay(text, now, zone)) return *time;
  if (const auto time = ParseUnixSeconds(text)) return *time;
  absl::Time time;
  for (const char* format :
       {"%Y-%m-%d%ET%H:%M:%E*S%Ez", "%Y-%m-%d%ET%H:%M:%E*S", "%Y-%m-%d%ET%H:%M",
        "%Y-%m-%d %H:%M:%E*S", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    // absl::ParseTime accepts "infinite-future" in every format.
    if (absl::ParseTime(format, text, zone, &time, nullptr) &&
        time != absl::InfiniteFuture() && time != absl::InfinitePast()) {
      return time;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is not a time; write it as in 2026-11-20T21:49:00Z, "
                   "2026-11-20, 21:49, -5m (five minutes ago), 1795211340 "
                   "(seconds since 1970) or now"));
}

std::string FormatInZone(absl::Time time, absl::TimeZone zone) {
  if (zone == absl::UTCTimeZone()) return FormatUtc(time);
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E*S%Ez", time, zone);
}

std::string FormatUtc(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E*SZ", time, absl::UTCTimeZone());
}

}  // namespace fleetperf
