#include "cli/values.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/os/clock.h"
#include "cli/times.h"
#include "perflib/clocks.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/path.h"
#include "values/window.h"

namespace fleetperf::cli {
namespace {

// If several display attributes are set, the first one checked applies.
bool IsShownPlain(const v1::Series& series) {
  return (series.attrib() & perflib::kAttribNoGroupSeparator) != 0;
}

bool IsShownAsHex(const v1::Series& series) {
  const bool is_real = (series.attrib() & perflib::kAttribDisplayAsReal) != 0;
  if (IsShownPlain(series) || is_real) return false;
  return perflib::IsHexType(series.type()) ||
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

// Distinguishes the newest sample of an instance that has ended from that of a
// machine that is away.
void MarkEnded(Field* newest) {
  newest->text = absl::StrCat("ended ", *newest->text);
  newest->brief->text = absl::StrCat("ended, ", newest->brief->text);
}

}  // namespace

std::string InstanceText(const v1::Series& series) {
  // Not a process: the sum of those that have ended.
  if (series.instance() == "ended:0" &&
      absl::StartsWith(series.counterset(), "Process")) {
    return "(ended processes)";
  }
  if (!series.has_instance() || series.instance_index() == 0) {
    return series.instance();
  }
  return absl::StrCat(series.instance(), "#", series.instance_index());
}

std::string CounterPath(const v1::Series& series) {
  if (!series.has_instance()) return series.path();
  std::string instance = perflib::EscapeInstanceName(series.instance());
  if (series.instance_index() != 0) {
    absl::StrAppend(&instance, "#", series.instance_index());
  }
  return absl::StrReplaceAll(series.path(),
                             {{absl::StrCat("(", instance, ")"), "(*)"}});
}

std::string ScaleKeyOf(const v1::Series& series) {
  return absl::StrCat(CounterPath(series), "\n", series.unit());
}

void ForEachValue(const v1::Points& points,
                  const std::function<void(const Value&)>& use) {
  int64_t nanos = 0;
  for (int i = 0; i < points.values_size(); ++i) {
    if (i >= points.time_unix_nanos_size()) return;
    nanos += points.time_unix_nanos(i);
    Value value{.time = absl::FromUnixNanos(nanos), .value = points.values(i)};
    if (i < points.statuses_size()) value.status = points.statuses(i);
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
  return {.name = "AGE", .text = absl::StrCat(DurationText(age), " old")};
}

std::string AgeText(absl::Time time, absl::Time now) {
  const absl::Duration age = absl::Trunc(now - time, absl::Seconds(1));
  const std::string format = absl::StrCat(
      absl::AbsDuration(age) < absl::Hours(24) ? "%H:%M:%S"
                                               : "%Y-%m-%dT%H:%M:%S",
      UserZone() == absl::UTCTimeZone() ? "Z, " : "%Ez, ");
  return absl::StrCat(absl::FormatTime(format, time, UserZone()),
                      DurationText(absl::AbsDuration(age)),
                      age < absl::ZeroDuration() ? " ahead" : " old");
}

Record ValueRecord(const v1::Series& series, const Value& value,
                   bool with_time) {
  const NumberText text = NumberOf(series, value.value);
  Record record = SeriesFields(series);
  record.push_back({.name = "time", .value = value.time, .detail = !with_time});
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
    const absl::Time now = Clock::Real().Now();
    newest.value = *value.newest_sample;
    newest.text = AgeText(*value.newest_sample, now);
    newest.brief = BriefAge(*value.newest_sample, now);
    if (value.ended.has_value()) MarkEnded(&newest);
  } else {
    newest.shown_in = kInTables | kInCsv;
  }
  record.push_back(newest);
  record.push_back(PresenceField(value));
  record.push_back(CoveredField(value));
  return record;
}

double RankOf(const v1::Series& series, const Value& value) {
  const perflib::CounterTypeInfo* type =
      perflib::FindCounterType(series.type());
  const bool is_weighted =
      type != nullptr &&
      IsWeighted({.type = series.type(), .formula = type->formula},
                 Over::kFormula);
  return is_weighted ? value.value * value.presence : value.value;
}

Field ShareField(const v1::Series& series, const Value& value, double share) {
  Field field{.name = "share", .value = share};
  if (series.unit() == "s") {
    // Minutes have no unit.
    const NumberText text = NumberOf(series, share);
    field.text =
        absl::StrCat(text.number, text.unit.empty() ? "" : " ", text.unit);
  } else {
    field.text =
        ScaledNumberOf(series, share, ScaleOf(series, std::fabs(value.value)));
  }
  return field;
}

Field PresenceField(const Value& value) {
  Field field{.name = "presence"};
  if (!value.ok() || value.presence >= 1) {
    field.shown_in = kInTables | kInCsv;
    return field;
  }
  field.value = value.presence;
  // Never 100 %: the instance was absent at least once.
  field.text = FormatPart(value.presence);
  return field;
}

Field CoveredField(const Value& value) {
  Field field{.name = "covered", .shown_in = kInTables};
  const double while_present =
      CoverageWhilePresent(value.coverage, value.presence);
  if (!value.ok() || while_present >= 1) return field;
  field.value = value.coverage;
  field.text = FormatPart(value.coverage);
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

absl::Time TimeOf(const v1::RawSample& sample) {
  return perflib::TimeFromPerfTime100NSec(sample.perf_time_100nsec());
}

Record RawFields(const v1::RawSample& sample) {
  Record record;
  const auto add = [&](const char* name, bool has, uint64_t number,
                       bool detail) {
    Field field{.name = name, .detail = detail};
    if (has) field.value = absl::StrCat(number);
    record.push_back(std::move(field));
  };
  record.push_back({.name = "time", .value = TimeOf(sample)});
  add("value", sample.has_value(), sample.value(), false);
  record.push_back({.name = "size", .value = uint32_t{sample.value_size()}});
  add("base", sample.has_denominator(), sample.denominator(), true);
  add("frequency", sample.has_frequency(), sample.frequency(), true);
  add("multi", sample.has_multi(), sample.multi(), true);
  record.push_back({.name = "perf_time",
                    .value = int64_t{sample.perf_time_stamp()},
                    .role = ColumnRole::kExtra});
  record.push_back({.name = "perf_time_100ns",
                    .value = int64_t{sample.perf_time_100nsec()},
                    .role = ColumnRole::kExtra});
  record.push_back({.name = "perf_freq",
                    .value = int64_t{sample.perf_freq()},
                    .role = ColumnRole::kExtra});
  add("life", true, sample.life(), true);
  return record;
}

Record RawRecord(const v1::Series& series, const v1::RawSample& sample) {
  Record record = SeriesFields(series);
  record.push_back({.name = "type",
                    .value = perflib::CounterTypeName(series.type()),
                    .role = ColumnRole::kText});
  for (Field& field : RawFields(sample)) record.push_back(std::move(field));
  return record;
}

}  // namespace fleetperf::cli
