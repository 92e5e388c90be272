// Asks an agent to pause if it exceeds its rate limits.

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

// The throttle of one stream. Thread-compatible, except where noted.
class Throttle {
 public:
  // Both arguments must outlive the throttle.
  Throttle(Ingest* ingest, AgentLink* link);

  // Sets the agent whose budgets are charged. Must be called before Charge.
  void SetAgent(const std::string& agent);

  // Charges the samples and the new series of a batch. `is_behind` says that
  // the samples are older than those of a live agent. Returns ResourceExhausted
  // if the agent keeps sending although it was asked to pause. Must be called
  // by one thread at a time.
  absl::Status Charge(uint64_t samples, uint64_t new_series, bool is_behind);

  // Counts a violation of the limit that `error` names in parentheses.
  // Thread-safe.
  void CountBroken(absl::string_view error);
  // Returns the number of violations by limit name. Thread-safe.
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
