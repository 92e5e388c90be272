// Which queries an agent runs, and how often.

#ifndef FLEETPERF_AGENT_COLLECT_PLAN_H_
#define FLEETPERF_AGENT_COLLECT_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/config.h"

namespace fleetperf::v1 {
class Plan;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

// Names are patterns as in paths; see perflib/path.h.
struct PlannedQuery {
  std::string counterset;              // a name or "{GUID}"
  std::vector<std::string> counters;   // names or "id:N"; empty: all
  std::vector<std::string> instances;  // empty: all
  absl::Duration interval = absl::Seconds(1);
  // Whether 4-byte values that fall by less than half of their range wrapped.
  bool wrap32 = false;
  // Whose counters: names in the network and in the store. Empty: the agent's
  // own, or in a collection that of its machine.
  std::vector<std::string> machines;

  bool IsFor(const std::string& machine) const;
  bool operator==(const PlannedQuery&) const = default;
};

struct Plan {
  uint64_t version = 0;  // 0: the agent's own configuration
  std::vector<PlannedQuery> queries;

  // Names the agent's own machine, `own`, where a query is for it.
  void NameMachines(const std::string& own);

  bool operator==(const Plan&) const = default;
};

// What is collected where nothing else is configured.
Plan DefaultPlan();

// Reads the list "queries"; the default plan if there is none.
Plan ReadPlan(ConfigSection root);

// An error says why nothing can be collected so often, or so rarely.
absl::Status CheckInterval(absl::Duration interval);

// An error names the query and what is wrong with it.
absl::StatusOr<Plan> PlanFromProto(const v1::Plan& proto);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_PLAN_H_
