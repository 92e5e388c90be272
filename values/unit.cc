#include "values/unit.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "perflib/counter_type.h"

namespace fleetperf {
namespace {

using perflib::DisplaySuffix;

// Returns the unit of the counted quantity, based on the counter's name.
std::string CountedUnit(const std::string& name) {
  if (absl::StrContains(name, "KBytes")) return "KiB";
  if (absl::StrContains(name, "MBytes") ||
      absl::StrContains(name, "Megabytes")) {
    return "MiB";
  }
  if (absl::StrContains(name, "Bytes") ||
      absl::StrContains(name, "Working Set") || name == "Commit Limit") {
    return "B";
  }
  if (absl::EndsWith(name, " Seconds")) return "s";
  if (name == "Current Bandwidth") return "bit/s";
  if (absl::StrContains(name, "Frequency") && !absl::StrContains(name, "%")) {
    return "MHz";
  }
  return "";
}

// Units of one quantity can be converted to each other. Each may be followed by
// "/s".
constexpr struct {
  absl::string_view name;
  absl::string_view quantity;
  double factor;
} kUnits[] = {
    {"%", "%", 1},        {"B", "B", 1},        {"kB", "B", 1e3},
    {"MB", "B", 1e6},     {"GB", "B", 1e9},     {"TB", "B", 1e12},
    {"KiB", "B", 0x1p10}, {"MiB", "B", 0x1p20}, {"GiB", "B", 0x1p30},
    {"TiB", "B", 0x1p40}, {"bit", "bit", 1},    {"kbit", "bit", 1e3},
    {"Mbit", "bit", 1e6}, {"Gbit", "bit", 1e9}, {"us", "s", 1e-6},
    {"µs", "s", 1e-6},    {"ms", "s", 1e-3},    {"s", "s", 1},
    {"min", "s", 60},     {"h", "s", 3600},     {"d", "s", 86400},
    {"Hz", "Hz", 1},      {"kHz", "Hz", 1e3},   {"MHz", "Hz", 1e6},
    {"GHz", "Hz", 1e9},   {"1", "1", 1},
};

constexpr std::pair<absl::string_view, double> kMultipliers[] = {
    {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};

std::optional<double> MultiplierOf(absl::string_view unit) {
  for (const auto& [name, factor] : kMultipliers) {
    if (name == unit) return factor;
  }
  return std::nullopt;
}

struct Quantity {
  absl::string_view name;
  bool is_rate = false;
  double factor = 1;
};

std::optional<Quantity> QuantityOf(absl::string_view unit) {
  const bool is_rate = absl::ConsumeSuffix(&unit, "/s");
  if (is_rate && unit.empty()) unit = "1";  // as tables show it
  for (const auto& known : kUnits) {
    if (known.name == unit)
      return Quantity{known.quantity, is_rate, known.factor};
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> UnitFactor(absl::string_view from, absl::string_view to) {
  if (from == to) return 1;
  if (const auto multiplier = MultiplierOf(from)) return multiplier;
  const std::optional<Quantity> source = QuantityOf(from);
  const std::optional<Quantity> target = QuantityOf(to);
  if (!source.has_value() || !target.has_value() ||
      source->name != target->name || source->is_rate != target->is_rate) {
    return std::nullopt;
  }
  return source->factor / target->factor;
}

absl::Status CheckUnit(absl::string_view unit) {
  if (unit.empty() || MultiplierOf(unit).has_value() ||
      QuantityOf(unit).has_value()) {
    return absl::OkStatus();
  }
  std::vector<absl::string_view> names;
  for (const auto& [name, factor] : kMultipliers) names.push_back(name);
  for (const auto& known : kUnits) {
    if (known.name != "1") names.push_back(known.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", unit, "\" is not a unit; the units are ",
                   absl::StrJoin(names, " "), ", and rates such as MiB/s"));
}

std::string UnitOf(const perflib::CounterRegistration& counter) {
  // In units of 100 ns, although its type is a percentage.
  if (counter.name == "Average Idle Time") return "";
  switch (perflib::SuffixOf(counter.type)) {
    case DisplaySuffix::kPercent:
      return "%";
    case DisplaySuffix::kSeconds:
      return "s";
    case DisplaySuffix::kPerSecond: {
      const std::string counted = CountedUnit(counter.name);
      return (counted.empty() ? "1" : counted) + "/s";
    }
    case DisplaySuffix::kNone:
    case DisplaySuffix::kNoShow:
      break;
  }
  if (absl::StartsWith(counter.name, "%")) return "%";
  return CountedUnit(counter.name);
}

}  // namespace fleetperf
