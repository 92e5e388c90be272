// What a stream says of plans: which one its agent has, and what became of it.

#ifndef FLEETPERF_AGGREGATOR_INGEST_PLAN_EXCHANGE_H_
#define FLEETPERF_AGGREGATOR_INGEST_PLAN_EXCHANGE_H_

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/ingest/agent_link.h"
#include "aggregator/plan/planner.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {

// Thread-safe.
class PlanExchange {
 public:
  // All outlive it. `machine` is the agent's own one, which does not change
  // after SendWelcome.
  PlanExchange(const Planner* planner, const v1::Machine* machine,
               AgentLink* link)
      : planner_(*planner), machine_(*machine), link_(*link) {}

  // Sends `welcome` with the plan for the machine in it.
  void SendWelcome(v1::CollectResponse welcome);

  // Sends the plan if it is not the one that was sent last. Nothing before
  // SendWelcome.
  void Update();

  // Keeps what the agent says that became of its plan.
  void TakeReport(v1::PlanReport report);

  // Null if it has not told.
  std::shared_ptr<const v1::PlanReport> report() const;

 private:
  const Planner& planner_;
  const v1::Machine& machine_;
  AgentLink& link_;
  mutable absl::Mutex mutex_;
  // What was sent last; nothing before SendWelcome.
  std::optional<v1::Plan> plan_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const v1::PlanReport> report_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_PLAN_EXCHANGE_H_
