#include "aggregator/ingest/throttle.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/ingest/agent_limits.h"
#include "aggregator/ingest/ingest.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {

Throttle::Throttle(Ingest* ingest, AgentLink* link,
                   std::shared_ptr<CertificateBudgets> budgets)
    : ingest_(*ingest),
      link_(*link),
      budgets_(std::move(budgets)),
      paused_until_(ingest->Now()) {}

void Throttle::Charge(Cost cost, double amount) {
  if (amount <= 0) return;
  const auto debt = budgets_->Charge(cost, amount, ingest_.Now());
  if (debt.pause > absl::ZeroDuration()) Pause(debt.pause, debt.reason);
}

CertificateBudgets::Debt Throttle::debt() const {
  return budgets_->debt(ingest_.Now());
}

absl::Status Throttle::ChargeSamples(uint64_t samples, uint64_t new_series,
                                     bool is_behind) {
  const absl::Duration now = ingest_.Now();
  const IngestLimits& limits = ingest_.limits();
  if (now >= paused_until_) {
    batches_while_paused_ = 0;
  } else if (++batches_while_paused_ > 2 * limits.max_unacknowledged_batches) {
    return absl::ResourceExhaustedError(
        absl::StrCat("agent ", agent_, " keeps sending while throttled"));
  }
  constexpr absl::Duration kNone;
  const auto amount = static_cast<double>(samples);
  if (const auto pause = budgets_->samples().Charge(amount, now);
      pause > kNone) {
    Pause(pause, absl::StrCat("more than ", limits.max_samples_per_second,
                              " samples per second (max_samples_per_second)"));
  }
  if (new_series > 0) {
    const auto pause =
        budgets_->series().Charge(static_cast<double>(new_series), now);
    if (pause > kNone) {
      Pause(pause,
            absl::StrCat("more than ", limits.max_new_series_per_hour,
                         " new series per hour (max_new_series_per_hour)"));
    }
  }
  if (is_behind) {
    const auto pause = ingest_.ChargeCatchUp(amount);
    if (pause > kNone) {
      Pause(pause, "the agent is catching up; live samples take precedence");
    }
  }
  return absl::OkStatus();
}

void Throttle::Pause(absl::Duration pause, absl::string_view reason) {
  paused_until_ = std::max(paused_until_, ingest_.Now() + pause);
  CountBroken(reason);
  ingest_.CountPause();
  if (agent_.empty()) return;
  v1::CollectResponse response;
  // The last pause covers all earlier ones.
  *response.mutable_throttle()->mutable_pause() =
      ToProto(paused_until_ - ingest_.Now());
  response.mutable_throttle()->set_reason(std::string(reason));
  link_.Send(std::move(response));
}

void Throttle::CountBroken(absl::string_view error) {
  const std::string limit = LimitNamedBy(error);
  if (limit.empty()) return;
  absl::MutexLock lock(&mutex_);
  ++limits_broken_[limit];
}

std::map<std::string, uint64_t> Throttle::limits_broken() const {
  absl::MutexLock lock(&mutex_);
  return limits_broken_;
}

}  // namespace fleetperf::aggregator
