#include "aggregator/cli/values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "aggregator/cli/times.h"
#include "aggregator/formula/window.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/path.h"

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

// Returns the instance's name with its index, as in a path.
std::string InstanceText(const v1::Series& series) {
  if (!series.has_instance() || series.instance_index() == 0) {
    return series.instance();
  }
  return absl::StrCat(series.instance(), "#", series.instance_index());
}

// Returns the path with "*" instead of the instance: still a path.
std::string CounterPath(const v1::Series& series) {
  if (!series.has_instance()) return series.path();
  std::string instance = perflib::EscapeInstanceName(series.instance());
  if (series.instance_index() != 0) {
    absl::StrAppend(&instance, "#", series.instance_index());
  }
  return absl::StrReplaceAll(series.path(),
                             {{absl::StrCat("(", instance, ")"), "(*)"}});
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
    if (points.has_newest_sample_unix_nanos()) {
      value.newest_sample =
          absl::FromUnixNanos(points.newest_sample_unix_nanos());
    }
    if (i < points.presence_size()) value.presence = points.presence(i);
    value.is_partial =
        points.last_is_partial() && i + 1 == points.values_size();
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

std::string PathOnMachine(absl::string_view machine, absl::string_view path) {
  if (machine.empty()) return std::string(path);
  return absl::StrCat("\\\\", machine, absl::StartsWith(path, "\\") ? "" : " ",
                      path);
}

bool IsGroupOfInstance(const v1::Series& series) {
  return !series.instance().empty() &&
         !absl::StrContains(
             series.path(),
             absl::StrCat("(", perflib::EscapeInstanceName(series.instance())));
}

Record SeriesFields(const v1::Series& series) {
  // Empty if the series combines several machines.
  const bool has_machine = !series.machine().empty();
  Field machine{.name = "machine",
                .shown_in = has_machine ? kEverywhere : kInCsv,
                .role = ColumnRole::kMachine};
  if (has_machine) machine.value = series.machine();
  return {
      machine,
      {.name = "path", .value = series.path(), .shown_in = kInCsv | kInJson},
      {.name = "counter",
       .value = CounterPath(series),
       .shown_in = kInTables,
       .role = ColumnRole::kCounter},
      {.name = "instance",
       .value = InstanceText(series),
       .shown_in = kInTables,
       .role = ColumnRole::kInstance}};
}

Field::Brief BriefAge(absl::Time time, absl::Time now) {
  const absl::Duration age = absl::Trunc(now - time, absl::Seconds(1));
  return {.name = "AGE",
          .text = absl::StrCat(absl::FormatDuration(age), " old")};
}

std::string AgeText(absl::Time time, absl::Time now) {
  const absl::Duration age = absl::Trunc(now - time, absl::Seconds(1));
  return absl::StrCat(
      absl::FormatTime(
          age < absl::Hours(24) ? "%H:%M:%SZ, " : "%Y-%m-%dT%H:%M:%SZ, ", time,
          absl::UTCTimeZone()),
      absl::FormatDuration(age), " old");
}

Record ValueRecord(const v1::Series& series, const Value& value,
                   bool with_time) {
  const NumberText text = NumberOf(series, value.value);
  Record record = SeriesFields(series);
  record.push_back(
      {.name = "time", .value = TimeText(value.time), .detail = !with_time});
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
    breaks.value = uint32_t{value.breaks};
    coverage.value = value.coverage;
  }
  record.push_back(breaks);
  record.push_back(coverage);
  Field partial{.name = "partial", .detail = true};
  if (value.is_partial) partial.value = true;
  record.push_back(partial);
  Field newest{.name = "newest_sample"};
  if (value.newest_sample.has_value()) {
    newest.value = TimeText(*value.newest_sample);
    newest.text = AgeText(*value.newest_sample, value.time);
    newest.brief = BriefAge(*value.newest_sample, value.time);
  } else {
    newest.shown_in = kInTables | kInCsv;
  }
  record.push_back(newest);
  record.push_back(PresenceField(value));
  return record;
}

double RankOf(const v1::Series& series, const Value& value) {
  const perflib::CounterTypeInfo* type =
      perflib::FindCounterType(series.type());
  const bool is_weighted =
      type != nullptr &&
      aggregator::IsWeighted({.type = series.type(), .formula = type->formula},
                             aggregator::Over::kFormula);
  return is_weighted ? value.value * value.presence : value.value;
}

Field PresenceField(const Value& value) {
  Field field{.name = "presence"};
  if (!value.ok() || value.presence >= 1) {
    field.shown_in = kInTables | kInCsv;
    return field;
  }
  field.value = value.presence;
  // Never 100 %: the instance was absent at least once.
  field.text = absl::StrFormat("%.1f %%", std::min(100 * value.presence, 99.9));
  return field;
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
