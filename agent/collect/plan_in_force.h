// The plan that an agent runs: the aggregator's, or its own.

#ifndef FLEETPERF_AGENT_COLLECT_PLAN_IN_FORCE_H_
#define FLEETPERF_AGENT_COLLECT_PLAN_IN_FORCE_H_

#include <optional>
#include <string>

#include "agent/collect/machines.h"
#include "agent/collect/plan.h"
#include "fleetperf/v1/configuration.pb.h"

namespace fleetperf::agent {

// Saves the aggregator's plan in a file, so that an agent that starts while no
// aggregator is reachable resumes the same collection. Thread-compatible.
class PlanInForce {
 public:
  // `own` is the plan in the agent's configuration. Applies the plan in `file`,
  // or `own` if the file is missing or damaged. `machines` must outlive the
  // object.
  PlanInForce(Plan own, std::string file, Machines* machines);

  // Replaces the plan in the agent's configuration. An aggregator's plan that
  // is in force stays, except for the part that is the agent's own.
  void SetOwn(Plan own);

  // Applies the aggregator's plan (null: the agent's own) and returns the
  // report of its queries. May take several seconds. An invalid plan is
  // rejected; the previous one stays in force.
  v1::PlanReport Apply(const v1::Plan* proto);

  // Returns the report if it differs from the last one that Apply or this
  // returned: a provider has failed since then, or works again. None after a
  // plan that was rejected. May take several seconds.
  std::optional<v1::PlanReport> ChangedReport();

  // Ends the queries that run only while a user watches. Called when the stream
  // to the aggregator ends.
  void EndTemporaryQueries();

 private:
  v1::PlanReport MakeReport();
  void Run(Plan plan);
  void Keep(v1::Plan proto);

  Plan own_;
  const std::string file_;
  Machines& machines_;
  // The plan that was applied last, without temporary queries.
  v1::Plan lasting_;
  bool is_saved_ = true;  // whether the file has it
  Plan plan_;
  std::optional<std::string> reported_;  // the bytes of the last report
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_PLAN_IN_FORCE_H_
