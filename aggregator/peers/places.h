// Bounds the number of things that run at a time.

#ifndef FLEETPERF_AGGREGATOR_PEERS_PLACES_H_
#define FLEETPERF_AGGREGATOR_PEERS_PLACES_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

// Thread-safe.
class Places {
 public:
  explicit Places(int places) : free_(places) {}

  // One of the places, which its holder waits for. Whatever runs in a place
  // must end in bounded time.
  class Place {
   public:
    explicit Place(Places* places) : places_(*places) {
      absl::MutexLock lock(&places_.mutex_);
      places_.freed_.Await(&places_.mutex_,
                           [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                               places_.mutex_) { return places_.free_ > 0; });
      --places_.free_;
    }
    ~Place() {
      absl::MutexLock lock(&places_.mutex_);
      ++places_.free_;
      places_.freed_.NotifyOne();
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    Places& places_;
  };

 private:
  absl::Mutex mutex_;
  Wakeup freed_;
  int free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_PLACES_H_
