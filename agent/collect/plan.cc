#include "agent/collect/plan.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "fleetperf/v1/configuration.pb.h"

namespace fleetperf::agent {
namespace {

constexpr absl::Duration kShortestInterval = absl::Seconds(1);
constexpr absl::Duration kLongestInterval = absl::Hours(24);

}  // namespace

bool PlannedQuery::IsFor(const std::string& machine) const {
  return machines.empty() ||
         std::count(machines.begin(), machines.end(), machine) > 0;
}

void Plan::NameMachines(const std::string& own) {
  for (PlannedQuery& query : queries) {
    if (query.machines.empty()) query.machines = {own};
    for (std::string& machine : query.machines) {
      if (absl::EqualsIgnoreCase(machine, own)) machine = own;
    }
  }
}

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

Plan ReadPlan(ConfigSection root) {
  if (!root.Has("queries")) return DefaultPlan();
  Plan plan;
  for (ConfigSection section : root.Sections("queries")) {
    PlannedQuery& query = plan.queries.emplace_back();
    section.Require("counterset", &query.counterset);
    section.Read("counters", &query.counters);
    section.Read("instances", &query.instances);
    section.Read("interval", &query.interval, absl::ZeroDuration(),
                 absl::InfiniteDuration());
    section.Read("wrap32", &query.wrap32);
    section.Read("machines", &query.machines);
    if (const absl::Status status = CheckInterval(query.interval);
        !status.ok()) {
      section.Error("interval", status.message());
    }
  }
  return plan;
}

absl::StatusOr<Plan> PlanFromProto(const v1::Plan& proto) {
  Plan plan;
  plan.version = proto.version();
  for (const v1::PlannedQuery& from : proto.queries()) {
    const std::string name = absl::StrCat("queries[", plan.queries.size(), "]");
    PlannedQuery& query = plan.queries.emplace_back();
    query.counterset = from.counterset();
    query.counters = {from.counters().begin(), from.counters().end()};
    query.instances = {from.instances().begin(), from.instances().end()};
    query.interval = absl::Seconds(from.interval().seconds()) +
                     absl::Nanoseconds(from.interval().nanos());
    query.wrap32 = from.wrap32();
    query.machines = {from.machines().begin(), from.machines().end()};
    if (query.counterset.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ".counterset is missing"));
    }
    if (const absl::Status status = CheckInterval(query.interval);
        !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ".interval: ", status.message()));
    }
  }
  return plan;
}

}  // namespace fleetperf::agent
