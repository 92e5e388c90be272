// A rate limit that allows bursts. The sender pauses to make up for a burst.

#ifndef FLEETPERF_AGGREGATOR_INGEST_RATE_BUDGET_H_
#define FLEETPERF_AGGREGATOR_INGEST_RATE_BUDGET_H_

#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace fleetperf::aggregator {

// Thread-safe.
class RateBudget {
 public:
  // Allows `amount` per `period`, possibly all at once. All times are
  // Clock::Monotonic().
  RateBudget(double amount, absl::Duration period, absl::Duration now)
      : amount_(amount), period_(period), charged_until_(now - period) {}

  // Whether nothing of a period's amount is used.
  bool IsFull(absl::Duration now) const {
    absl::MutexLock lock(&mutex_);
    return charged_until_ <= now - period_;
  }

  // Charges `amount`, however large, and returns how long the sender must
  // pause.
  absl::Duration Charge(double amount, absl::Duration now) {
    absl::MutexLock lock(&mutex_);
    charged_until_ =
        std::max(charged_until_, now - period_) + amount / amount_ * period_;
    return std::max(absl::ZeroDuration(), charged_until_ - now);
  }

 private:
  const double amount_;
  const absl::Duration period_;
  mutable absl::Mutex mutex_;
  // The time at which the charged amounts would end if sent at the exact rate.
  absl::Duration charged_until_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_RATE_BUDGET_H_
