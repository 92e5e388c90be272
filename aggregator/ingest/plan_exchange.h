// The exchange of plans and plan reports on an agent's stream.

#ifndef FLEETPERF_AGGREGATOR_INGEST_PLAN_EXCHANGE_H_
#define FLEETPERF_AGGREGATOR_INGEST_PLAN_EXCHANGE_H_

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/ingest/agent_link.h"
#include "aggregator/plan/planner.h"
#include "aggregator/samples/directory.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {

// Thread-safe.
class PlanExchange {
 public:
  // All arguments must outlive this object. `machine` is the agent's own
  // machine, which must be in `directory` when SendWelcome is called and must
  // not change afterwards. The directory has its labels.
  PlanExchange(const Planner* planner, const Directory* directory,
               const v1::Machine* machine, AgentLink* link)
      : planner_(*planner),
        directory_(*directory),
        machine_(*machine),
        link_(*link) {}

  // Adds the machine's plan to `welcome` and sends it.
  void SendWelcome(v1::CollectResponse welcome);

  // Sends the plan if it differs from the plan sent last, and returns whether
  // it did. A no-op before SendWelcome.
  bool Update();

  // Stores the agent's report on its plan. Returns whether it is the first one
  // on a plan that replaced another one on this stream.
  bool TakeReport(v1::PlanReport report);

  // Returns the last report; nullptr if the agent has not sent one.
  std::shared_ptr<const v1::PlanReport> report() const;

 private:
  v1::Plan CurrentPlan() const;

  const Planner& planner_;
  const Directory& directory_;
  const v1::Machine& machine_;
  AgentLink& link_;
  mutable absl::Mutex mutex_;
  // The plan sent last; std::nullopt before SendWelcome.
  std::optional<v1::Plan> plan_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const v1::PlanReport> report_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_PLAN_EXCHANGE_H_
