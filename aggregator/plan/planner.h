// Decides which queries each agent runs.
//
// An agent's plan consists of the queries and instance rules of all matching
// configuration entries, in the order of the entries, followed by temporary
// additions, to which the rules apply, too. An
// agent that matches no entry runs the queries of its own configuration.
//
// Invariants:
// - Versions grow with each change. They also grow across restarts of the
//   aggregator, unless the clock was set back.
// - The listener is called after each change, without any lock held.

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
#include "base/os/clock.h"
#include "fleetperf/v1/configuration.pb.h"

namespace fleetperf::aggregator {

// Thread-safe.
class Planner {
 public:
  // `clock` must outlive the planner.
  explicit Planner(std::vector<PlanEntry> entries,
                   const Clock* clock = &Clock::Real());

  // Sets a function to be called when plans may have changed; nullptr for none.
  // The thread that makes the change calls it, without any lock held. A call in
  // progress may outlast its replacement.
  void SetListener(std::function<void()> listener);

  // Replaces the configuration's plans. Keeps the additions.
  void SetEntries(std::vector<PlanEntry> entries);

  // Returns the agent's plan. `agent` is the agent's report on its own machine,
  // with the labels of Directory::LabelsOf.
  // The version is 0 if the agent runs only its own queries.
  v1::Plan PlanFor(const v1::Machine& agent) const;

  // Queries that agents run in addition to their plans, until this object is
  // destroyed. The planner must outlive it.
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

  // Returns whether any addition has queries for the agent of this name.
  bool HasAddition(const std::string& agent) const;

 private:
  void Remove(uint64_t addition);
  // Must be called with each change.
  void BeginVersion() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyListener();

  const Clock& clock_;
  mutable absl::Mutex mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
  std::vector<PlanEntry> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, QueriesByAgent> additions_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_addition_ ABSL_GUARDED_BY(mutex_) = 1;
  // The version of the current plans. Derived from Unix time in milliseconds,
  // so that it also grows across restarts.
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Returns whether two plans are equal except for their versions.
bool HaveSameQueries(v1::Plan a, v1::Plan b);

// Returns whether the plan only runs the agent's own queries, as agents do
// without a plan.
inline bool IsAgentsOwn(const v1::Plan& plan) {
  return plan.includes_own() && plan.queries().empty();
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PLAN_PLANNER_H_
