#include "aggregator/formula/unit.h"

#include "absl/strings/match.h"
#include "perflib/counter_type.h"

namespace fleetperf::aggregator {
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
      absl::StrContains(name, "Working Set")) {
    return "B";
  }
  if (name == "Current Bandwidth") return "bit/s";
  if (absl::StrContains(name, "Frequency") && !absl::StrContains(name, "%")) {
    return "MHz";
  }
  return "";
}

}  // namespace

std::string UnitOf(const perflib::CounterRegistration& counter) {
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

}  // namespace fleetperf::aggregator
