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
#include "aggregator/ingest/certificate_budgets.h"

namespace fleetperf::aggregator {

class Ingest;

// The throttle of one stream. Thread-compatible, except where noted.
class Throttle {
 public:
  using Cost = CertificateBudgets::Cost;

  // `ingest` and `link` must outlive the throttle. `budgets` are those of the
  // agent's certificate.
  Throttle(Ingest* ingest, AgentLink* link,
           std::shared_ptr<CertificateBudgets> budgets);

  // Sets the agent's name for messages. Before that, the agent is not told of
  // pauses.
  void SetAgent(const std::string& agent) { agent_ = agent; }

  // Charges a message's cost, unless that is nothing. If a budget is used up,
  // the stream must not be read until debt() is over.
  void Charge(Cost cost, double amount);
  // Returns the debt of the certificate, from any of its streams.
  CertificateBudgets::Debt debt() const;

  // Charges the samples and the new series of a batch. `is_behind` says that
  // the samples are older than those of a live agent. Returns ResourceExhausted
  // if the agent keeps sending although it was asked to pause. Must be called
  // by one thread at a time.
  absl::Status ChargeSamples(uint64_t samples, uint64_t new_series,
                             bool is_behind);

  // Counts a violation of the limit that `error` names in parentheses.
  // Thread-safe.
  void CountBroken(absl::string_view error);
  // Returns the number of violations by limit name. Thread-safe.
  std::map<std::string, uint64_t> limits_broken() const;

 private:
  void Pause(absl::Duration pause, absl::string_view reason);

  Ingest& ingest_;
  AgentLink& link_;
  const std::shared_ptr<CertificateBudgets> budgets_;
  std::string agent_;
  absl::Duration paused_until_;  // Clock::Monotonic()
  uint32_t batches_while_paused_ = 0;
  mutable absl::Mutex mutex_;
  std::map<std::string, uint64_t> limits_broken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_THROTTLE_H_
