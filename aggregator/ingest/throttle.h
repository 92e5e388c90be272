// Has an agent pause that sends more than it may.

#ifndef FLEETPERF_AGGREGATOR_INGEST_THROTTLE_H_
#define FLEETPERF_AGGREGATOR_INGEST_THROTTLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/agent_link.h"
#include "aggregator/ingest/rate_budget.h"

namespace fleetperf::aggregator {

class Ingest;

// Of one stream.
class Throttle {
 public:
  // Both outlive it.
  Throttle(Ingest* ingest, AgentLink* link);

  // Whose budgets are charged. Before the first Charge.
  void SetAgent(const std::string& agent);

  // What a batch brought: samples, and series that are new. `is_behind`: the
  // samples are older than those of a live agent. ResourceExhausted if the
  // agent sends on though it was told to pause. Called by one thread at a time.
  absl::Status Charge(uint64_t samples, uint64_t new_series, bool is_behind);

  // Counts that a limit was broken, by the name that `error` has for it in
  // parentheses. Thread-safe, as is the next.
  void CountBroken(absl::string_view error);
  // How often limits were broken, by their names in Limits.
  std::map<std::string, uint64_t> limits_broken() const;

 private:
  void Pause(absl::Duration pause, const std::string& reason);

  Ingest& ingest_;
  AgentLink& link_;
  std::string agent_;
  std::shared_ptr<AgentBudgets> budgets_;
  absl::Duration paused_until_;  // Clock::Monotonic()
  uint32_t batches_while_paused_ = 0;
  mutable absl::Mutex mutex_;
  std::map<std::string, uint64_t> limits_broken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_THROTTLE_H_
