#include "aggregator/plan/planner.h"

#include <algorithm>
#include <utility>

#include "fleetperf/v1/fleet.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {

bool HaveSameQueries(v1::Plan a, v1::Plan b) {
  a.clear_version();
  b.clear_version();
  return a.SerializeAsString() == b.SerializeAsString();
}

Planner::Planner(std::vector<PlanEntry> entries, const Clock* clock)
    : clock_(*clock), entries_(std::move(entries)) {
  absl::MutexLock lock(&mutex_);
  BeginVersion();
}

void Planner::SetListener(std::function<void()> listener) {
  absl::MutexLock lock(&mutex_);
  listener_ = std::move(listener);
}

void Planner::SetEntries(std::vector<PlanEntry> entries) {
  {
    absl::MutexLock lock(&mutex_);
    entries_ = std::move(entries);
    BeginVersion();
  }
  NotifyListener();
}

v1::Plan Planner::PlanFor(const v1::Machine& agent) const {
  absl::ReaderMutexLock lock(&mutex_);
  v1::Plan plan;
  plan.set_includes_own(true);
  for (const PlanEntry& entry : entries_) {
    if (!entry.Matches(agent)) continue;
    plan.set_includes_own(false);
    for (const PlannedQuery& query : entry.queries) {
      *plan.add_queries() = ToProto(query);
    }
    for (const InstanceRule& rule : entry.rules) {
      *plan.add_instance_rules() = ToProto(rule);
    }
  }
  for (const auto& [id, queries] : additions_) {
    const auto of_agent = queries.find(agent.name());
    if (of_agent == queries.end()) continue;
    plan.mutable_queries()->Add(of_agent->second.begin(),
                                of_agent->second.end());
  }
  if (!IsAgentsOwn(plan)) plan.set_version(version_);
  return plan;
}

std::unique_ptr<Planner::Addition> Planner::Add(QueriesByAgent queries) {
  std::unique_ptr<Addition> addition;
  {
    absl::MutexLock lock(&mutex_);
    const uint64_t id = next_addition_++;
    additions_[id] = std::move(queries);
    BeginVersion();
    addition = std::make_unique<Addition>(this, id);
  }
  NotifyListener();
  return addition;
}

void Planner::Remove(uint64_t addition) {
  {
    absl::MutexLock lock(&mutex_);
    additions_.erase(addition);
    BeginVersion();
  }
  NotifyListener();
}

bool Planner::HasAddition(const std::string& agent) const {
  absl::ReaderMutexLock lock(&mutex_);
  return std::any_of(
      additions_.begin(), additions_.end(),
      [&](const auto& addition) { return addition.second.contains(agent); });
}

void Planner::BeginVersion() {
  const int64_t now = absl::ToUnixMillis(clock_.Now());
  version_ =
      std::max(version_ + 1, static_cast<uint64_t>(std::max<int64_t>(now, 0)));
}

void Planner::NotifyListener() {
  std::function<void()> listener;
  {
    absl::MutexLock lock(&mutex_);
    listener = listener_;
  }
  if (listener) listener();
}

}  // namespace fleetperf::aggregator
