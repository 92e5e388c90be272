// Which plan an agent runs: the aggregator's, or its own.

#ifndef FLEETPERF_AGENT_COLLECT_PLAN_IN_FORCE_H_
#define FLEETPERF_AGENT_COLLECT_PLAN_IN_FORCE_H_

#include <string>

#include "agent/collect/machines.h"
#include "agent/collect/plan.h"
#include "fleetperf/v1/configuration.pb.h"

namespace fleetperf::agent {

// Keeps the aggregator's plan in a file, so that an agent that starts while no
// aggregator can be reached collects what it did before. Thread-compatible.
class PlanInForce {
 public:
  // `own` is that of the agent's configuration. Applies the plan in `file`, or
  // `own` if there is none or it is damaged. `machines` outlives it.
  PlanInForce(Plan own, std::string file, Machines* machines);

  // Applies the aggregator's plan (null: the agent's own) and says what became
  // of it; may take some seconds. A plan that is wrong leaves the one before it
  // in force.
  v1::PlanReport Apply(const v1::Plan* proto);

  // There is no stream to an aggregator: ends what is run only while somebody
  // looks.
  void EndMeanwhile();

 private:
  void Run(Plan plan);
  void Keep(v1::Plan proto);

  const Plan own_;
  const std::string file_;
  Machines& machines_;
  v1::Plan kept_;  // what the file says
  Plan plan_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_PLAN_IN_FORCE_H_
