// Which queries an agent runs, and how often.

#ifndef FLEETPERF_AGENT_COLLECT_PLAN_H_
#define FLEETPERF_AGENT_COLLECT_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/config.h"
#include "base/planned_query.h"

namespace fleetperf::v1 {
class Plan;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

struct Plan {
  uint64_t version = 0;  // 0: the agent's own configuration
  std::vector<PlannedQuery> queries;

  // Names the agent's own machine, `own`, where a query is for it.
  void NameMachines(const std::string& own);

  // What messages call a query.
  std::string NameOf(size_t query) const;

  bool operator==(const Plan&) const = default;
};

// Whether `query` collects from a machine.
bool IsFor(const PlannedQuery& query, const std::string& machine);

// What is collected where nothing else is configured.
Plan DefaultPlan();

// Reads the list "queries"; the default plan if there is none.
Plan ReadPlan(ConfigSection root);

// `own` is the agent's own plan, which may be part of it. An error names the
// query and what is wrong with it.
absl::StatusOr<Plan> PlanFromProto(const v1::Plan& proto, const Plan& own);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_PLAN_H_
