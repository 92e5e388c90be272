#include "agent/collect/plan.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "fleetperf/v1/configuration.pb.h"
#include "proto/conversions.h"

namespace fleetperf::agent {

bool IsFor(const PlannedQuery& query, const std::string& machine) {
  return query.machines.empty() ||
         std::count(query.machines.begin(), query.machines.end(), machine) > 0;
}

void Plan::NameMachines(const std::string& own) {
  for (PlannedQuery& query : queries) {
    if (query.machines.empty()) query.machines = {own};
    for (std::string& machine : query.machines) {
      if (absl::EqualsIgnoreCase(machine, own)) machine = own;
    }
  }
}

std::string Plan::NameOf(size_t query) const {
  const std::string& name = queries[query].name;
  return name.empty() ? absl::StrCat("queries[", query, "]") : name;
}

Plan ReadPlan(ConfigSection root) {
  Plan plan;
  if (root.Has("queries")) {
    plan.queries = ReadQueries(root);
  } else {
    plan = DefaultPlan();
  }
  plan.rules = ReadInstanceRules(root);
  return plan;
}

absl::StatusOr<Plan> PlanFromProto(const v1::Plan& proto, const Plan& own) {
  Plan plan;
  if (proto.includes_own()) plan = own;
  plan.version = proto.version();
  PlanCheck check;
  for (const v1::PlannedQuery& from : proto.queries()) {
    const PlannedQuery& query = plan.queries.emplace_back(FromProto(from));
    if (const auto problem = check.Add(query)) {
      if (problem->setting == "name") plan.queries.back().name.clear();
      return absl::InvalidArgumentError(
          absl::StrCat(plan.NameOf(plan.queries.size() - 1), ".",
                       problem->setting, ": ", problem->reason));
    }
  }
  for (const v1::InstanceRule& from : proto.instance_rules()) {
    if (const auto problem =
            check.Add(plan.rules.emplace_back(FromProto(from)))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "instance_rules.", problem->setting, ": ", problem->reason));
    }
  }
  return plan;
}

}  // namespace fleetperf::agent
