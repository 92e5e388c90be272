#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cli/local_zone.h"

namespace fleetperf::cli {
namespace {

constexpr char kSystemZone[] = "/etc/localtime";
constexpr char kExample[] = "CET-1CEST,M3.5.0,M10.5.0/3";
// The rule of libc for a daylight saving time without one.
constexpr char kDefaultRule[] = ",M3.2.0,M11.1.0";

// The standard time of a POSIX zone, and the text after it.
struct StandardTime {
  std::string name;
  int32_t offset = 0;  // seconds east of UTC
  absl::string_view rest;
};

// Consumes "CET" or "<+0330>". Returns the empty string if there is no name.
std::string ConsumeName(absl::string_view* text) {
  const bool is_quoted = absl::ConsumePrefix(text, "<");
  size_t size = 0;
  for (; size < text->size(); ++size) {
    const char c = (*text)[size];
    const bool is_part = is_quoted
                             ? absl::ascii_isalnum(c) || c == '+' || c == '-'
                             : absl::ascii_isalpha(c);
    if (!is_part) break;
  }
  std::string name(text->substr(0, size));
  text->remove_prefix(size);
  if (is_quoted && !absl::ConsumePrefix(text, ">")) return "";
  return name.size() < 3 ? "" : name;
}

// Consumes one or two digits.
std::optional<int32_t> ConsumeNumber(absl::string_view* text) {
  size_t size = 0;
  while (size < std::min<size_t>(2, text->size()) &&
         absl::ascii_isdigit((*text)[size])) {
    ++size;
  }
  int32_t number;
  if (!absl::SimpleAtoi(text->substr(0, size), &number)) return std::nullopt;
  text->remove_prefix(size);
  return number;
}

// Consumes "-1", "3:30" or "+11:30:15", which count west of UTC. Returns
// seconds east of it.
std::optional<int32_t> ConsumeOffset(absl::string_view* text) {
  const bool is_east = absl::ConsumePrefix(text, "-");
  if (!is_east) absl::ConsumePrefix(text, "+");
  int32_t seconds = 0;
  int32_t unit = 3600;
  do {
    const auto number = ConsumeNumber(text);
    if (!number.has_value()) return std::nullopt;
    seconds += *number * unit;
    unit /= 60;
  } while (unit > 0 && absl::ConsumePrefix(text, ":"));
  if (seconds >= 24 * 3600) return std::nullopt;
  return is_east ? seconds : -seconds;
}

std::optional<StandardTime> ParseStandardTime(absl::string_view text) {
  StandardTime result{.name = ConsumeName(&text)};
  if (result.name.empty()) return std::nullopt;
  const auto offset = ConsumeOffset(&text);
  if (!offset.has_value()) return std::nullopt;
  result.offset = *offset;
  result.rest = text;
  return result;
}

void AppendBigEndian(uint64_t number, int bytes, std::string* out) {
  while (bytes-- > 0) out->push_back(static_cast<char>(number >> (8 * bytes)));
}

void AppendHeader(uint32_t times, uint32_t types, uint32_t characters,
                  std::string* out) {
  absl::StrAppend(out, "TZif2", std::string(15 + 3 * 4, '\0'));
  for (const uint32_t count : {times, types, characters}) {
    AppendBigEndian(count, 4, out);
  }
}

// Returns a zone file (RFC 8536) in which the standard time begins in 1970 and
// the POSIX form, which ends the file, applies from then on.
std::string ZoneFileOf(const StandardTime& standard, absl::string_view posix) {
  std::string file;
  AppendHeader(0, 0, 0, &file);  // the part with 32-bit times is not used
  AppendHeader(1, 1, static_cast<uint32_t>(standard.name.size()) + 1, &file);
  AppendBigEndian(0, 8, &file);  // the time
  AppendBigEndian(0, 1, &file);  // its type
  AppendBigEndian(static_cast<uint32_t>(standard.offset), 4, &file);
  AppendBigEndian(0, 1, &file);  // not daylight saving time
  AppendBigEndian(0, 1, &file);  // the position of the name
  file += standard.name;
  file.push_back('\0');
  absl::StrAppend(&file, "\n", posix, "\n");
  return file;
}

// Abseil reads zones from files only, and caches them by path. So the file,
// which is in memory, stays open.
std::optional<absl::TimeZone> LoadFromMemory(const std::string& file) {
  const int descriptor = memfd_create("fleetperf zone", MFD_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  const ssize_t written = write(descriptor, file.data(), file.size());
  absl::TimeZone zone;
  if (written != static_cast<ssize_t>(file.size()) ||
      !absl::LoadTimeZone(absl::StrCat("/proc/self/fd/", descriptor), &zone)) {
    return std::nullopt;
  }
  return zone;
}

std::optional<absl::TimeZone> ParsePosixZone(const std::string& text) {
  const auto standard = ParseStandardTime(text);
  // A line break would end the zone file's last line.
  if (!standard.has_value() || absl::StrContains(text, "\n")) {
    return std::nullopt;
  }
  absl::string_view rest = standard->rest;
  if (!rest.empty() && ConsumeName(&rest).empty()) return std::nullopt;
  const bool needs_rule =
      !standard->rest.empty() && !absl::StrContains(standard->rest, ",");
  return LoadFromMemory(ZoneFileOf(
      *standard, absl::StrCat(text, needs_rule ? kDefaultRule : "")));
}

}  // namespace

absl::StatusOr<absl::TimeZone> ZoneOf(const std::string& tz) {
  const std::string name(absl::StripPrefix(tz, ":"));
  if (name.empty()) return absl::UTCTimeZone();
  absl::TimeZone zone;
  if (absl::LoadTimeZone(name, &zone)) return zone;
  if (const auto posix = ParsePosixZone(name)) return *posix;
  return absl::NotFoundError(absl::StrCat(
      "--local: there is no zone \"", tz,
      "\", which TZ names; correct TZ, install the zone files (tzdata), or "
      "write the zone as in TZ=",
      kExample));
}

absl::StatusOr<absl::TimeZone> SystemZone(const std::string& file) {
  absl::TimeZone zone;
  if (absl::LoadTimeZone(file, &zone)) return zone;
  return absl::NotFoundError(absl::StrCat(
      "--local: the local zone is unknown, because TZ is not set and there is "
      "no zone file ",
      file, "; install tzdata, or set TZ, as in TZ=", kExample));
}

absl::StatusOr<absl::TimeZone> LocalZone() {
  if (const char* tz = std::getenv("TZ")) return ZoneOf(tz);
  return SystemZone(kSystemZone);
}

}  // namespace fleetperf::cli
