// A rate that may be exceeded for a moment, but is to be made up for.

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
  // `amount` may be charged in each `period`, and all of it at once. `now` is
  // Clock::Monotonic(), here and later.
  RateBudget(double amount, absl::Duration period, absl::Duration now)
      : amount_(amount), period_(period), charged_until_(now - period) {}

  // Takes what has come, however much it is, and returns how long whoever sent
  // it has to pause.
  absl::Duration Charge(double amount, absl::Duration now) {
    absl::MutexLock lock(&mutex_);
    charged_until_ =
        std::max(charged_until_, now - period_) + amount / amount_ * period_;
    return std::max(absl::ZeroDuration(), charged_until_ - now);
  }

 private:
  const double amount_;
  const absl::Duration period_;
  absl::Mutex mutex_;
  // What has come would have taken until then, at this rate.
  absl::Duration charged_until_ ABSL_GUARDED_BY(mutex_);
};

// What one agent may send, whatever streams it comes in.
struct AgentBudgets {
  RateBudget samples;
  RateBudget series;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_RATE_BUDGET_H_
