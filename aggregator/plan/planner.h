// Decides what each agent collects.

#ifndef FLEETPERF_AGGREGATOR_PLAN_PLANNER_H_
#define FLEETPERF_AGGREGATOR_PLAN_PLANNER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/plan/plan_entry.h"
#include "base/clock.h"
#include "fleetperf/v1/configuration.pb.h"

namespace fleetperf::aggregator {

// Thread-safe.
class Planner {
 public:
  explicit Planner(std::vector<PlanEntry> entries,
                   const Clock* clock = &Clock::Real());

  // Called, without any lock, when plans may have changed.
  void SetListener(std::function<void()> listener);

  // Replaces the plans of the configuration.
  void SetEntries(std::vector<PlanEntry> entries);

  // The queries of all entries that match, in their order; if none does, the
  // agent's own; then what was added. `agent` is what an agent told of its own
  // machine.
  v1::Plan PlanFor(const v1::Machine& agent) const;

  // Queries that agents run besides; taken out when it is destroyed.
  class Addition {
   public:
    Addition(Planner* planner, uint64_t id) : planner_(*planner), id_(id) {}
    ~Addition() { planner_.Remove(id_); }
    Addition(const Addition&) = delete;
    Addition& operator=(const Addition&) = delete;

   private:
    Planner& planner_;
    const uint64_t id_;
  };
  using QueriesByAgent = std::map<std::string, std::vector<v1::PlannedQuery>>;
  std::unique_ptr<Addition> Add(QueriesByAgent queries);

  // Whether anything is added to the agent's plan.
  bool HasAddition(const std::string& agent) const;

 private:
  void Remove(uint64_t addition);
  // To be called with each change.
  void BeginVersion() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyListener();

  const Clock& clock_;
  mutable absl::Mutex mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
  std::vector<PlanEntry> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, QueriesByAgent> additions_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_addition_ ABSL_GUARDED_BY(mutex_) = 1;
  // Of what is planned now: milliseconds of Unix time, so that it grows over
  // restarts, too.
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Whether two plans differ in nothing but their versions.
bool HaveSameQueries(v1::Plan a, v1::Plan b);

// Whether it is what agents do without a plan.
inline bool IsAgentsOwn(const v1::Plan& plan) {
  return plan.includes_own() && plan.queries().empty();
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PLAN_PLANNER_H_
