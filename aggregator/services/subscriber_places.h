// Limits the subscribers of a caller, so that others get a place, too.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIBER_PLACES_H_
#define FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIBER_PLACES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace fleetperf::aggregator {

// Thread-safe.
class SubscriberPlaces {
 public:
  // `max`: the limit of all subscribers. A caller may have a quarter of them.
  explicit SubscriberPlaces(int64_t max);

  // A place, released by its destructor.
  class Place {
   public:
    Place(SubscriberPlaces* places, std::string caller)
        : places_(*places), caller_(std::move(caller)) {}
    ~Place() { places_.Leave(caller_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    SubscriberPlaces& places_;
    const std::string caller_;
  };

  // Returns ResourceExhausted if the caller has reached its limit.
  absl::StatusOr<std::unique_ptr<Place>> Enter(const std::string& caller);

 private:
  void Leave(const std::string& caller);

  const int64_t max_of_caller_;
  absl::Mutex mutex_;
  // Has no entries of 0.
  absl::flat_hash_map<std::string, int64_t> places_of_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIBER_PLACES_H_
