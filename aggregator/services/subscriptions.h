// Begins and ends subscriptions, for any transport.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTIONS_H_
#define FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTIONS_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/query/fleet.h"
#include "aggregator/store/store.h"
#include "aggregator/subscribe/hub.h"
#include "base/os/clock.h"
#include "base/server/caller_quota.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::aggregator {

// All transports share the limits of subscribers. Thread-safe.
class Subscriptions {
 public:
  // The arguments must outlive the object.
  Subscriptions(Store* store, Fleet* fleet, Hub* hub, const Clock* clock,
                CallerQuota* quota)
      : store_(*store),
        fleet_(*fleet),
        hub_(*hub),
        clock_(*clock),
        quota_(*quota) {
    quota->SetLimits(Pool::kSubscriptions,
                     std::max<int64_t>(hub->limits().max_subscribers / 4, 1));
  }

  // Returns a share of one for a subscriber. Returns ResourceExhausted, and
  // counts, if the caller (PeerIdentity::Key) has too many.
  absl::StatusOr<CallerQuota::Share> Enter(const std::string& caller);
  CallerQuota& quota() { return quota_; }

  // Runs a task that calls Begin on a thread of the hub, because the paths may
  // have to be resolved against the whole fleet. The tasks of a caller run one
  // after the other, so that other callers wait for one of them alone.
  void Post(const std::string& caller, std::function<void()> task);

  // Returns a subscription that has begun. `listener` is that of its outbox,
  // whose first message must not be taken before the return; it takes its
  // memory from the share of `caller`. Returns the errors of
  // SubscriptionService.Subscribe.
  absl::StatusOr<std::shared_ptr<Subscription>> Begin(
      const v1::SubscribeRequest& request, const std::string& caller,
      std::function<void()> listener, const IsCancelled& is_cancelled);
  // Ends a subscription that Begin has returned, later.
  void End(std::shared_ptr<Subscription> subscription);

  void CountLagged(uint64_t values) { hub_.CountLagged(values); }

 private:
  Store& store_;
  Fleet& fleet_;
  Hub& hub_;
  const Clock& clock_;
  CallerQuota& quota_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTIONS_H_
