#include "aggregator/cli/values.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/units.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"

namespace fleetperf::cli {
namespace {

// If several display attributes are set, the first one checked applies.
bool IsShownPlain(const v1::Series& series) {
  return (series.attrib() & perflib::kAttribNoGroupSeparator) != 0;
}

bool IsShownAsHex(const v1::Series& series) {
  const bool is_real = (series.attrib() & perflib::kAttribDisplayAsReal) != 0;
  if (IsShownPlain(series) || is_real) return false;
  return series.type() == perflib::kPerfCounterRawcountHex ||
         series.type() == perflib::kPerfCounterLargeRawcountHex ||
         (series.attrib() & perflib::kAttribDisplayAsHex) != 0;
}

bool IsWhole(double value) {
  return value >= 0 && value < 0x1p64 && value == std::floor(value);
}

std::string HexText(double value) {
  return absl::StrFormat("0x%X", static_cast<uint64_t>(value));
}

void RemoveSeparators(std::string* number) {
  *number = absl::StrReplaceAll(*number, {{",", ""}});
}

}  // namespace

void ForEachValue(const v1::Points& points,
                  const std::function<void(const Value&)>& use) {
  int64_t nanos = 0;
  for (int i = 0; i < points.values_size(); ++i) {
    if (i >= points.time_unix_nanos_size()) return;
    nanos += points.time_unix_nanos(i);
    Value value{.time = absl::FromUnixNanos(nanos), .value = points.values(i)};
    if (i < points.statuses_size()) value.status = points.statuses(i);
    // Earlier versions of the aggregator send such values.
    if (value.ok() && !std::isfinite(value.value)) {
      value.status = v1::VALUE_STATUS_NOT_FINITE;
    }
    if (!value.ok()) value.value = 0;
    if (i < points.causes_size()) value.cause = points.causes(i);
    if (i < points.breaks_size()) value.breaks = points.breaks(i);
    if (i < points.coverage_size()) value.coverage = points.coverage(i);
    use(value);
  }
}

// Returns the enum value's name without its prefix, in lower case.
std::string StatusText(v1::ValueStatus status) {
  return absl::AsciiStrToLower(
      absl::StripPrefix(v1::ValueStatus_Name(status), "VALUE_STATUS_"));
}

std::string CauseText(v1::GapCause cause) {
  return absl::AsciiStrToLower(
      absl::StripPrefix(v1::GapCause_Name(cause), "GAP_CAUSE_"));
}

NumberText NumberOf(const v1::Series& series, double value) {
  if (IsShownAsHex(series) && IsWhole(value)) {
    return {HexText(value), series.unit()};
  }
  NumberText text = FormatNumber(value, series.unit());
  if (IsShownPlain(series)) RemoveSeparators(&text.number);
  return text;
}

Scale ScaleOf(const v1::Series& series, double largest) {
  if (IsShownAsHex(series)) return {1, series.unit()};
  return ScaleFor(largest, series.unit());
}

std::string ScaledNumberOf(const v1::Series& series, double value,
                           const Scale& scale) {
  if (IsShownAsHex(series) && IsWhole(value)) return HexText(value);
  std::string text = FormatScaled(value, scale);
  if (IsShownPlain(series)) RemoveSeparators(&text);
  return text;
}

Record ValueRecord(const v1::Series& series, const Value& value,
                   bool with_time) {
  const NumberText text = NumberOf(series, value.value);
  Record record;
  // Empty if the series combines several machines.
  Field machine{.name = "machine", .detail = series.machine().empty()};
  if (!machine.detail) machine.value = series.machine();
  record.push_back(machine);
  record.push_back({.name = "path", .value = series.path()});
  record.push_back(
      {.name = "time", .value = FormatUtc(value.time), .detail = !with_time});
  Field number{.name = "value"};
  if (value.ok()) {
    number.value = value.value;
    number.text = text.number;
  } else {
    number.text = ValueText(series, value);
  }
  record.push_back(number);
  record.push_back(
      {.name = "status", .value = StatusText(value.status), .detail = true});
  record.push_back({.name = "unit",
                    .value = series.unit(),
                    .text = value.ok() ? text.unit : ""});
  Field cause{.name = "cause", .detail = true};
  if (value.cause != v1::GAP_CAUSE_UNSPECIFIED) {
    cause.value = CauseText(value.cause);
  }
  record.push_back(cause);
  Field breaks{.name = "breaks", .detail = true};
  Field coverage{.name = "coverage", .detail = true};
  if (value.breaks > 0 || value.coverage < 1) {
    breaks.value = uint64_t{value.breaks};
    coverage.value = value.coverage;
  }
  record.push_back(breaks);
  record.push_back(coverage);
  return record;
}

std::string ReasonText(const Value& value) {
  return value.cause == v1::GAP_CAUSE_UNSPECIFIED ? StatusText(value.status)
                                                  : CauseText(value.cause);
}

std::string ValueText(const v1::Series& series, const Value& value) {
  if (value.ok()) {
    const NumberText text = NumberOf(series, value.value);
    return text.unit.empty() ? text.number
                             : absl::StrCat(text.number, " ", text.unit);
  }
  const std::string status = StatusText(value.status);
  return value.cause == v1::GAP_CAUSE_UNSPECIFIED
             ? status
             : absl::StrCat(status, " (", CauseText(value.cause), ")");
}

}  // namespace fleetperf::cli
