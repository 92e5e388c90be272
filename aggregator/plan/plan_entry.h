// The list "plans" of the aggregator's configuration: which agents run which
// queries.

#ifndef FLEETPERF_AGGREGATOR_PLAN_PLAN_ENTRY_H_
#define FLEETPERF_AGGREGATOR_PLAN_PLAN_ENTRY_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/planned_query.h"
#include "perflib/path.h"

namespace fleetperf::v1 {
class Machine;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

// Queries, and the agents that run them: those that all selectors match.
struct PlanEntry {
  std::string name;                        // for messages
  std::vector<perflib::Pattern> machines;  // one of these; empty: any
  std::optional<perflib::Pattern> operating_system;
  std::map<std::string, perflib::Pattern> labels;
  std::vector<PlannedQuery> queries;

  // `agent` is what an agent told of its own machine.
  bool Matches(const v1::Machine& agent) const;
};

// Notes what is wrong in `root`.
std::vector<PlanEntry> ReadPlans(ConfigSection& root);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PLAN_PLAN_ENTRY_H_
