#include "cli/check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"
#include "base/text/printable.h"
#include "base/text/units.h"
#include "cli/aggregators.h"
#include "cli/commands.h"
#include "cli/missing.h"
#include "cli/query.h"
#include "cli/query_request.h"
#include "cli/times.h"
#include "proto/conversions.h"
#include "values/window.h"

namespace fleetperf::cli {
namespace {

constexpr std::array<const char*, 4> kStateNames = {"OK", "WARNING", "CRITICAL",
                                                    "UNKNOWN"};

// Performance data beyond these are noise for their readers, and some cut lines
// at 4 KiB. --top changes the number.
constexpr size_t kMaxPerformanceData = 10;

// From best to worst.
int RankOf(CheckState state) {
  switch (state) {
    case CheckState::kOk:
      return 0;
    case CheckState::kWarning:
      return 1;
    case CheckState::kUnknown:
      return 2;
    case CheckState::kCritical:
      break;
  }
  return 3;
}

bool IsStale(const Value& value, absl::Duration stale) {
  return value.newest_sample.has_value() &&
         value.time - *value.newest_sample > stale;
}

// Returns a number without an exponent, which plugins must not print.
std::string PluginNumber(double value) {
  std::string text = absl::StrFormat("%.6f", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

// Returns the condition as a plugin's range, outside of which it holds; "@":
// inside of which.
std::string RangeText(const std::optional<Condition>& condition) {
  if (!condition.has_value()) return "";
  const std::string number = PluginNumber(condition->number);
  switch (condition->comparison) {
    case Comparison::kGreater:
      return absl::StrCat("~:", number);
    case Comparison::kGreaterOrEqual:
      return absl::StrCat("@", number, ":");
    case Comparison::kLess:
      return absl::StrCat(number, ":");
    case Comparison::kLessOrEqual:
      return absl::StrCat("@~:", number);
    case Comparison::kEqual:
      return absl::StrCat("@", number, ":", number);
    default:
      return absl::StrCat(number, ":", number);
  }
}

// Returns the condition with its number in the unit of the series.
absl::StatusOr<std::optional<Condition>> LimitFor(
    const std::optional<Threshold>& threshold, const v1::Series& series) {
  if (!threshold.has_value()) return std::nullopt;
  return threshold->condition.In(series.unit(), series.path());
}

// Returns the unit if plugins may use it.
std::string UnitOfMeasurement(const std::string& unit) {
  return unit == "%" || unit == "s" || unit == "B" ? unit : "";
}

// Returns the path of a series, with the labels of a group.
std::string NameOf(const v1::Series& series) {
  std::string name = PathOnMachine(series.machine(), series.path());
  if (IsGroupOfInstance(series)) {
    absl::StrAppend(&name, " ", series.instance());
  }
  for (const auto& [label, value] :
       std::map(series.labels().begin(), series.labels().end())) {
    absl::StrAppend(&name, " ", label, ":", value);
  }
  return name;
}

// A plugin's text is one line and ends at "|".
std::string PluginText(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"|", "/"}});
}

}  // namespace

std::string PluginLine(CheckState state, absl::string_view text) {
  return absl::StrCat("FLEETPERF ", kStateNames[static_cast<size_t>(state)],
                      " - ", PluginText(text));
}

absl::Status CheckResult::Add(const v1::Series& series, const Value& value) {
  Item item = {.series = series, .value = value, .rank = RankOf(series, value)};
  ASSIGN_OR_RETURN(item.warn, LimitFor(limits_.warn, series));
  ASSIGN_OR_RETURN(item.critical, LimitFor(limits_.critical, series));
  ASSIGN_OR_RETURN(item.where, LimitFor(limits_.where, series));
  items_.push_back(std::move(item));
  return absl::OkStatus();
}

// Whether the series is that of an instance that came and went, on a machine
// whose samples go on.
bool CheckResult::IsPassing(const Item& item) const {
  const auto has_value_now = [](const Item& one) {
    return one.value.ok() && !one.value.newest_sample.has_value();
  };
  if (!limits_.has_wildcards || has_value_now(item)) return false;
  if (!item.value.newest_sample.has_value() &&
      item.value.status != v1::VALUE_STATUS_NEED_TWO_SAMPLES) {
    return false;
  }
  return std::any_of(items_.begin(), items_.end(), [&](const Item& other) {
    return has_value_now(other) &&
           other.series.machine() == item.series.machine() &&
           other.series.counterset() == item.series.counterset();
  });
}

bool CheckResult::IsLeftOut(const Item& item) const {
  return item.value.ok() && item.where.has_value() &&
         !item.where->HoldsFor(item.rank);
}

bool CheckResult::HasLeftOut() const {
  return std::any_of(items_.begin(), items_.end(),
                     [&](const Item& item) { return IsLeftOut(item); });
}

std::vector<const CheckResult::Item*> CheckResult::Shown() const {
  std::vector<const Item*> shown;
  for (const Item& item : items_) {
    if (!IsPassing(item) && !IsLeftOut(item)) shown.push_back(&item);
  }
  if (limits_.top == 0) return shown;
  const auto with_value =
      std::stable_partition(shown.begin(), shown.end(),
                            [](const Item* item) { return !item->value.ok(); });
  std::stable_sort(with_value, shown.end(), [](const Item* a, const Item* b) {
    return a->rank > b->rank;
  });
  const auto count =
      std::min<std::ptrdiff_t>(limits_.top, shown.end() - with_value);
  shown.erase(with_value + count, shown.end());
  return shown;
}

// Returns the worst of too many series.
std::vector<const CheckResult::Item*> CheckResult::WithPerformanceData(
    std::vector<const Item*> shown) const {
  if (limits_.top > 0 || shown.size() <= kMaxPerformanceData) return shown;
  const std::optional<Threshold>& limit =
      limits_.critical.has_value() ? limits_.critical : limits_.warn;
  const auto is_below = [](const Condition& condition) {
    return condition.comparison == Comparison::kLess ||
           condition.comparison == Comparison::kLessOrEqual;
  };
  const double sign = limit.has_value() && is_below(limit->condition) ? -1 : 1;
  const auto badness = [&](const Item* item) {
    return std::pair(RankOf(StateOf(*item)), sign * item->rank);
  };
  std::stable_sort(
      shown.begin(), shown.end(),
      [&](const Item* a, const Item* b) { return badness(a) > badness(b); });
  shown.resize(kMaxPerformanceData);
  return shown;
}

CheckState CheckResult::StateOf(const Item& item) const {
  const Value& value = item.value;
  if (!value.ok() || IsStale(value, limits_.stale)) return CheckState::kUnknown;
  if (item.critical.has_value() && item.critical->HoldsFor(value.value)) {
    return CheckState::kCritical;
  }
  if (item.warn.has_value() && item.warn->HoldsFor(value.value)) {
    return CheckState::kWarning;
  }
  return CheckState::kOk;
}

CheckState CheckResult::state() const {
  const std::vector<const Item*> shown = Shown();
  if (shown.empty() && !HasLeftOut()) return CheckState::kUnknown;
  CheckState worst = missing_.empty() ? CheckState::kOk : CheckState::kUnknown;
  for (const Item* item : shown) {
    const CheckState state = StateOf(*item);
    if (RankOf(state) > RankOf(worst)) worst = state;
  }
  return worst;
}

// Returns "\\web-1\A(b)\C is 85 %, > 80".
std::string CheckResult::Describe(const Item& item) const {
  const std::string name = NameOf(item.series);
  const Value& value = item.value;
  switch (StateOf(item)) {
    case CheckState::kUnknown:
      if (!value.ok()) {
        return absl::StrCat(name, " has no value: ", ReasonText(value));
      }
      return absl::StrCat(name, " is stale: newest sample ",
                          AgeText(*value.newest_sample, value.time));
    case CheckState::kCritical:
      return absl::StrCat(name, " is ", ValueText(item.series, value), ", ",
                          limits_.critical->text);
    case CheckState::kWarning:
      return absl::StrCat(name, " is ", ValueText(item.series, value), ", ",
                          limits_.warn->text);
    case CheckState::kOk:
      break;
  }
  return absl::StrCat(name, " is ", ValueText(item.series, value));
}

// Labels may contain anything but "=" and "'".
std::string CheckResult::PerformanceData(const Item& item) const {
  const std::string label = absl::StrReplaceAll(PluginText(NameOf(item.series)),
                                                {{"=", ":"}, {"'", "''"}});
  const std::string value =
      item.value.ok() ? absl::StrCat(PluginNumber(item.value.value),
                                     UnitOfMeasurement(item.series.unit()))
                      : "U";
  return absl::StrCat("'", label, "'=", value, ";", RangeText(item.warn), ";",
                      RangeText(item.critical));
}

std::string CheckResult::MissingText() const {
  if (missing_.size() == 1) return missing_.front();
  return absl::StrCat(missing_.front(), ", and ", missing_.size() - 1,
                      " more missing");
}

std::string CheckResult::Line() const {
  const CheckState worst_state = state();
  const std::vector<const Item*> shown = Shown();
  if (shown.empty()) {
    std::string text = "no samples in this time";
    if (!missing_.empty()) {
      text = MissingText();
    } else if (HasLeftOut()) {
      text = absl::StrCat("no value is ", limits_.where->text);
    }
    return PluginLine(worst_state, text);
  }
  std::map<CheckState, size_t> counts;
  const Item* worst = nullptr;
  std::vector<std::string> data;
  for (const Item* item : shown) {
    const CheckState state = StateOf(*item);
    ++counts[state];
    if (worst == nullptr && state == worst_state) worst = item;
  }
  for (const Item* item : WithPerformanceData(shown)) {
    data.push_back(PerformanceData(*item));
  }
  // If no series is unknown, a path or machine is missing.
  std::string text = worst != nullptr ? Describe(*worst) : MissingText();
  if (shown.size() > 1) {
    std::vector<std::string> parts;
    for (const CheckState state : {CheckState::kCritical, CheckState::kUnknown,
                                   CheckState::kWarning, CheckState::kOk}) {
      if (counts[state] == 0) continue;
      parts.push_back(absl::StrCat(
          counts[state], " ",
          absl::AsciiStrToLower(kStateNames[static_cast<size_t>(state)])));
    }
    absl::StrAppend(&text, "; ", absl::StrJoin(parts, ", "), " of ",
                    shown.size(), " series");
  }
  if (worst != nullptr && !missing_.empty()) {
    absl::StrAppend(&text, "; ", MissingText());
  }
  return absl::StrCat(PluginLine(worst_state, text), " | ",
                      absl::StrJoin(data, " "));
}

bool HasWildcards(const std::string& path) {
  return absl::StrReplaceAll(path, {{" * ", ""}}).find_first_of("*?") !=
         std::string::npos;
}

namespace {

absl::StatusOr<std::optional<Threshold>> ThresholdOf(absl::string_view flag,
                                                     const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto parsed = ParseCondition(text);
  if (parsed.ok()) {
    ASSIGN_OR_RETURN(const Condition condition, ConditionFromProto(*parsed));
    return Threshold{.condition = condition,
                     .text = std::string(absl::StripAsciiWhitespace(text))};
  }
  return absl::InvalidArgumentError(
      absl::StrReplaceAll(parsed.status().message(), {{"--where", flag}}));
}

absl::StatusOr<CheckResult::Limits> LimitsOf(const CheckFlags& flags) {
  CheckResult::Limits limits;
  ASSIGN_OR_RETURN(limits.warn, ThresholdOf("--warn", flags.warn));
  ASSIGN_OR_RETURN(limits.critical, ThresholdOf("--critical", flags.critical));
  ASSIGN_OR_RETURN(limits.where, ThresholdOf("--where", flags.where));
  limits.top = flags.top;
  ASSIGN_OR_RETURN(limits.stale, ParseDurationFlag("--stale", flags.stale));
  limits.has_wildcards =
      std::any_of(flags.paths.begin(), flags.paths.end(), HasWildcards);
  return limits;
}

// Whether a path without wildcards is of one machine.
bool NamesEachMachine(const CheckFlags& flags) {
  if (!flags.machines.machine.empty()) {
    return !HasWildcards(flags.machines.machine);
  }
  return std::all_of(
      flags.paths.begin(), flags.paths.end(),
      [](const std::string& path) { return absl::StartsWith(path, "\\\\"); });
}

// Whether the value is fresh and covers the whole time.
bool IsWhole(const Value& value, absl::Duration stale) {
  return value.ok() && !IsStale(value, stale) &&
         CoverageWhilePresent(value.coverage, value.presence) >= 1;
}

absl::StatusOr<CheckResult> RunCheck(const ConnectionFlags& to,
                                     const CheckFlags& flags) {
  if (flags.paths.empty()) {
    return absl::InvalidArgumentError("PATH or --missing is required");
  }
  ASSIGN_OR_RETURN(const CheckResult::Limits limits, LimitsOf(flags));
  const QueryFlags query = {.paths = flags.paths,
                            .since = flags.since,
                            .over = flags.over,
                            .agg = flags.agg,
                            .by = flags.by,
                            .machines = flags.machines};
  ASSIGN_OR_RETURN(v1::QueryRangeRequest request, MakeRequest(query));
  request.set_without_aggregates(true);
  ASSIGN_OR_RETURN(const Aggregators aggregators, Aggregators::Open(to));
  CheckResult result(limits);
  absl::Status wrong_unit;
  // Whether another aggregator cannot change the result.
  bool is_complete = NamesEachMachine(flags) && !limits.has_wildcards;
  RETURN_IF_ERROR(
      ForEachResult(aggregators, query, request, Printing::kAtEnd,
                    [&](const v1::Series& series, const Value& value) {
                      wrong_unit.Update(result.Add(series, value));
                      is_complete = is_complete && IsWhole(value, limits.stale);
                    }));
  RETURN_IF_ERROR(wrong_unit);
  if (!is_complete) {
    for (const auto& [address, reason] : aggregators.failures()) {
      result.AddMissing(reason);
    }
  }
  for (const v1::Missing& missing : aggregators.missing()) {
    result.AddMissing(
        absl::StrCat(Excerpt(missing.path()), ": ", missing.reason()));
  }
  const absl::Time now = Clock::Real().Now();
  for (const auto& [name, machine] : aggregators.silent()) {
    const absl::Duration age = now - FromProto(machine.newest_sample());
    if (absl::AbsDuration(age) <= limits.stale) continue;
    result.AddMissing(SilenceText(machine, now));
  }
  return result;
}

}  // namespace

int ReportUnknown(const absl::Status& error) {
  PutLine(PluginLine(CheckState::kUnknown, error.message()));
  return static_cast<int>(CheckState::kUnknown);
}

int Check(const ConnectionFlags& connection, const CheckFlags& flags) {
  const auto result = RunCheck(connection, flags);
  if (!result.ok()) return ReportUnknown(result.status());
  PutLine(result->Line());
  return static_cast<int>(result->state());
}

}  // namespace fleetperf::cli
