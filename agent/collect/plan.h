// The queries that an agent runs, their intervals and instances.

#ifndef FLEETPERF_AGENT_COLLECT_PLAN_H_
#define FLEETPERF_AGENT_COLLECT_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/config/config.h"
#include "base/config/planned_query.h"

namespace fleetperf::v1 {
class Plan;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

struct Plan {
  uint64_t version = 0;  // 0: the agent's own configuration
  std::vector<PlannedQuery> queries;
  std::vector<InstanceRule> rules;

  // Sets `own` as the machine of the queries for the agent's own machine.
  void NameMachines(const std::string& own);

  // Returns the name of a query in messages.
  std::string NameOf(size_t query) const;

  bool operator==(const Plan&) const = default;
};

// Returns whether `query` collects from `machine`.
bool IsFor(const PlannedQuery& query, const std::string& machine);

// Returns the plan for agents without a configured plan.
Plan DefaultPlan();

// Reads the list "queries", or takes that of the default plan if there is none,
// and the keys "include" and "exclude".
Plan ReadPlan(ConfigSection root);

// Converts a plan of the aggregator, which may include `own`, the agent's own
// plan. It is checked as one of the agent's own file is (PlanCheck). Errors
// name the query and the invalid setting.
absl::StatusOr<Plan> PlanFromProto(const v1::Plan& proto, const Plan& own);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_PLAN_H_
