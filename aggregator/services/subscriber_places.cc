#include "aggregator/services/subscriber_places.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace fleetperf::aggregator {

SubscriberPlaces::SubscriberPlaces(int64_t max)
    : max_of_caller_(std::max<int64_t>(max / 4, 1)) {}

absl::StatusOr<std::unique_ptr<SubscriberPlaces::Place>>
SubscriberPlaces::Enter(const std::string& caller) {
  absl::MutexLock lock(&mutex_);
  int64_t& places = places_of_[caller];
  if (places == max_of_caller_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this certificate has ", max_of_caller_,
                     " subscriptions, the limit; try again later"));
  }
  ++places;
  return std::make_unique<Place>(this, caller);
}

void SubscriberPlaces::Leave(const std::string& caller) {
  absl::MutexLock lock(&mutex_);
  const auto found = places_of_.find(caller);
  if (--found->second == 0) places_of_.erase(found);
}

}  // namespace fleetperf::aggregator
