#include "base/units.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace fleetperf {
namespace {

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

absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text) {
  constexpr struct {
    absl::string_view suffix;
    uint64_t factor;
  } kUnits[] = {{"KiB", uint64_t{1} << 10},
                {"MiB", uint64_t{1} << 20},
                {"GiB", uint64_t{1} << 30},
                {"TiB", uint64_t{1} << 40},
                {"", 1}};
  for (const auto& unit : kUnits) {
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

absl::StatusOr<absl::Time> ParseTime(absl::string_view text, absl::Time now) {
  if (text == "now") return now;
  absl::Time time;
  for (const char* format :
       {"%Y-%m-%d%ET%H:%M:%E*S%Ez", "%Y-%m-%d%ET%H:%M:%E*S",
        "%Y-%m-%d %H:%M:%E*S", "%Y-%m-%d"}) {
    // absl::ParseTime accepts "infinite-future" in every format.
    if (absl::ParseTime(format, text, &time, nullptr) &&
        time != absl::InfiniteFuture() && time != absl::InfinitePast()) {
      return time;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is not a time; write it as in 2026-11-20T21:49:00Z "
                   "(UTC unless a zone follows) or now"));
}

std::string FormatUtc(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E*SZ", time, absl::UTCTimeZone());
}

}  // namespace fleetperf
