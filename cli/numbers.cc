#include "cli/numbers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/times.h"

namespace fleetperf::cli {
namespace {

std::string WithSeparators(absl::string_view digits) {
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

// Formats with enough decimals for about four significant digits.
std::string FormatPlain(double value) {
  const double size = std::fabs(value);
  const int decimals = value == std::floor(value) ? 0
                       : size >= 1000             ? 0
                       : size >= 100              ? 1
                                                  : 2;
  if (size > 0 && size < 0.005) return absl::StrFormat("%.2g", value);
  return FormatDecimals(value, decimals);
}

// Small percentages do not vanish: a process that used the processor is not
// idle.
std::string FormatPercent(double value) {
  // Idle time and the clock are not read at the same instant, so that zero can
  // come out slightly negative.
  if (value > -0.05 && value <= 0) return "0.00";
  if (value > 0 && value < 0.001) return "<0.001";
  return value > 0 && value < 0.01 ? absl::StrFormat("%.3f", value)
                                   : absl::StrFormat("%.2f", value);
}

NumberText FormatSeconds(double value) {
  if (std::fabs(value) >= 60) {
    return {DurationText(absl::Seconds(value)), ""};
  }
  const Scale scale = ScaleFor(std::fabs(value), "s");
  return {FormatScaled(value, scale), scale.unit};
}

}  // namespace

std::string UnitText(absl::string_view unit) {
  return std::string(unit == "1/s" ? "/s" : unit);
}

NumberText FormatNumber(double value, absl::string_view unit) {
  if (unit == "s") return FormatSeconds(value);
  const Scale scale = ScaleFor(std::fabs(value), unit);
  return {FormatScaled(value, scale), scale.unit};
}

Scale ScaleFor(double largest, absl::string_view unit) {
  if (unit == "s") {
    if (largest >= 86400) return {86400, "d"};
    if (largest >= 3600) return {3600, "h"};
    if (largest >= 60) return {60, "min"};
    if (largest == 0 || largest >= 1) return {1, "s"};
    return largest >= 1e-3 ? Scale{1e-3, "ms"} : Scale{1e-6, "µs"};
  }
  Scale scale{1, UnitText(unit)};
  if (unit == "B" || unit == "B/s") {
    constexpr absl::string_view kPrefixes[] = {"",   "Ki", "Mi",
                                               "Gi", "Ti", "Pi"};
    size_t prefix = 0;
    while (largest / scale.divisor >= 1024 &&
           prefix + 1 < std::size(kPrefixes)) {
      scale.divisor *= 1024;
      ++prefix;
    }
    scale.unit = absl::StrCat(kPrefixes[prefix], unit);
  }
  return scale;
}

std::string FormatScaled(double value, const Scale& scale) {
  const double number = value / scale.divisor;
  return scale.unit == "%" ? FormatPercent(number) : FormatPlain(number);
}

std::string FormatDecimals(double value, int decimals) {
  const std::string text = absl::StrFormat("%.*f", decimals, std::fabs(value));
  const size_t point = std::min(text.find('.'), text.size());
  return absl::StrCat(value < 0 ? "-" : "",
                      WithSeparators(absl::string_view(text).substr(0, point)),
                      absl::string_view(text).substr(point));
}

std::string FormatPart(double part) {
  const double percent = 100 * part;
  if (percent < 0.05) return percent > 0 ? "<0.1 %" : "0.0 %";
  return absl::StrFormat("%.1f %%", std::min(percent, 99.9));
}

std::string FormatRange(absl::Time first, absl::Time last) {
  const auto text_of = [](absl::Time time) {
    return TimeText(absl::FromUnixSeconds(absl::ToUnixSeconds(time)));
  };
  return absl::StrCat("from ", text_of(first), " to ", text_of(last));
}

}  // namespace fleetperf::cli
