#include "aggregator/ingest/plan_exchange.h"

#include <utility>

#include "aggregator/ingest/agent_limits.h"

namespace fleetperf::aggregator {

// Plans are computed and sent under the lock. The lock orders concurrent
// callers, so the last plan sent reflects the latest state.

void PlanExchange::SendWelcome(v1::CollectResponse welcome) {
  absl::MutexLock lock(&mutex_);
  plan_ = CurrentPlan();
  if (!IsAgentsOwn(*plan_)) *welcome.mutable_welcome()->mutable_plan() = *plan_;
  link_.Send(std::move(welcome));
}

bool PlanExchange::Update() {
  absl::MutexLock lock(&mutex_);
  if (!plan_.has_value()) return false;  // comes with Welcome
  v1::Plan plan = CurrentPlan();
  if (HaveSameQueries(plan, *plan_)) return false;
  plan_ = std::move(plan);
  v1::CollectResponse response;
  *response.mutable_plan() = *plan_;
  link_.Send(std::move(response));
  return true;
}

v1::Plan PlanExchange::CurrentPlan() const {
  v1::Machine machine = machine_;
  directory_.ReplaceLabels(&machine);
  return planner_.PlanFor(machine);
}

// Bounds the report's size because it is kept while the stream is open.
bool PlanExchange::TakeReport(v1::PlanReport report) {
  BoundPlanReport(&report);
  absl::MutexLock lock(&mutex_);
  const bool is_changed =
      report_ != nullptr && report_->version() != report.version();
  report_ = std::make_shared<const v1::PlanReport>(std::move(report));
  return is_changed;
}

std::shared_ptr<const v1::PlanReport> PlanExchange::report() const {
  absl::MutexLock lock(&mutex_);
  return report_;
}

}  // namespace fleetperf::aggregator
