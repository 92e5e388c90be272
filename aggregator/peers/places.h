// Bounds the number of things that run at a time.

#ifndef FLEETPERF_AGGREGATOR_PEERS_PLACES_H_
#define FLEETPERF_AGGREGATOR_PEERS_PLACES_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

// Thread-safe.
class Places {
 public:
  explicit Places(int places) : free_(places) {}

  // One of the places. Whatever runs in a place must end in bounded time.
  class Place {
   public:
    ~Place() {
      absl::MutexLock lock(&places_.mutex_);
      ++places_.free_;
      places_.freed_.NotifyOne();
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    friend class Places;
    explicit Place(Places* places) : places_(*places) {}

    Places& places_;
  };

  // Waits for a place. Meanwhile calls `check` about ten times a second, and
  // returns its error, if any.
  absl::StatusOr<std::unique_ptr<Place>> Take(
      absl::FunctionRef<absl::Status()> check) {
    const auto is_free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return free_ > 0;
    };
    for (;;) {
      if (const absl::Status status = check(); !status.ok()) return status;
      absl::MutexLock lock(&mutex_);
      if (!freed_.Await(&mutex_, absl::Milliseconds(100), is_free)) continue;
      --free_;
      return std::unique_ptr<Place>(new Place(this));
    }
  }

 private:
  absl::Mutex mutex_;
  Wakeup freed_;
  int free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_PLACES_H_
