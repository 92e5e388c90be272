#include "base/planned_query.h"

#include "absl/strings/str_cat.h"

namespace fleetperf {
namespace {

constexpr absl::Duration kShortestInterval = absl::Seconds(1);
constexpr absl::Duration kLongestInterval = absl::Hours(24);

}  // namespace

absl::Status CheckInterval(absl::Duration interval) {
  const std::string text = absl::FormatDuration(interval);
  if (interval < kShortestInterval) {
    return absl::InvalidArgumentError(absl::StrCat(
        text,
        " is too short: counters are not meant to be read more than once "
        "a second, which is the shortest interval"));
  }
  if (interval > kLongestInterval) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, " is too long: the longest interval is 24h"));
  }
  if (interval % absl::Seconds(1) != absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, " is not a whole number of seconds"));
  }
  return absl::OkStatus();
}

std::vector<PlannedQuery> ReadQueries(ConfigSection& section) {
  std::vector<PlannedQuery> queries;
  for (ConfigSection element : section.Sections("queries")) {
    PlannedQuery& query = queries.emplace_back();
    element.Require("counterset", &query.counterset);
    element.Read("counters", &query.counters);
    element.Read("instances", &query.instances);
    element.Read("interval", &query.interval, absl::ZeroDuration(),
                 absl::InfiniteDuration());
    element.Read("wrap32", &query.wrap32);
    element.Read("machines", &query.machines);
    if (const absl::Status status = CheckInterval(query.interval);
        !status.ok()) {
      element.Error("interval", status.message());
    }
  }
  return queries;
}

}  // namespace fleetperf
