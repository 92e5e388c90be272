// Remembers that a peer did not answer, so that callers need not wait for it.

#ifndef FLEETPERF_AGGREGATOR_PEERS_RECENT_FAILURE_H_
#define FLEETPERF_AGGREGATOR_PEERS_RECENT_FAILURE_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace fleetperf {
class Backoff;
}  // namespace fleetperf

namespace fleetperf::aggregator {

// Thread-safe.
class RecentFailure {
 public:
  // `clock` must outlive the object.
  explicit RecentFailure(const Clock* clock = &Clock::Real());
  ~RecentFailure();

  // Returns OK if the caller may ask the peer, and reports how that ends.
  // Returns the last failure for some seconds after it, up to half a minute if
  // the peer keeps failing. After that time, one caller at a time may ask.
  absl::Status Check() ABSL_LOCKS_EXCLUDED(mutex_);

  // For a peer that answers, or fails at once.
  void Clear() ABSL_LOCKS_EXCLUDED(mutex_);
  // For a peer that kept its caller waiting. `failure` is not OK.
  void Set(const absl::Status& failure) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const Clock& clock_;
  absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // OK: the peer answers
  const std::unique_ptr<Backoff> backoff_ ABSL_PT_GUARDED_BY(mutex_);
  // By Clock::Monotonic(): the time from which one caller may ask again.
  absl::Duration next_attempt_ ABSL_GUARDED_BY(mutex_);
  bool has_attempt_ ABSL_GUARDED_BY(mutex_) = false;  // since the failure
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_RECENT_FAILURE_H_
