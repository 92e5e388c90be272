// The list "plans" of the aggregator's configuration: which agents run which
// queries.

#ifndef FLEETPERF_AGGREGATOR_PLAN_PLAN_ENTRY_H_
#define FLEETPERF_AGGREGATOR_PLAN_PLAN_ENTRY_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/config/config.h"
#include "base/config/planned_query.h"
#include "perflib/path.h"

namespace fleetperf::v1 {
class Machine;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

// A named list of queries, with their instances, and the selectors of the
// agents that run them. An agent must match all selectors. Thread-compatible.
struct PlanEntry {
  std::string name;                        // unique; used in messages
  std::vector<perflib::Pattern> machines;  // one must match; empty: any agent
  std::optional<perflib::Pattern> operating_system;
  std::map<std::string, perflib::Pattern> labels;
  std::vector<PlannedQuery> queries;
  std::vector<InstanceRule> rules;

  // Returns whether all selectors match `agent`, which is an agent's report on
  // its own machine. A label that the agent does not have matches no pattern.
  bool Matches(const v1::Machine& agent) const;
};

// Reads the list "plans" of `root`. Records errors in `root`.
std::vector<PlanEntry> ReadPlans(ConfigSection& root);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PLAN_PLAN_ENTRY_H_
