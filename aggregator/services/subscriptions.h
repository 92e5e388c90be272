// Begins and ends subscriptions, for any transport.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTIONS_H_
#define FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/peers/fleet_watches.h"
#include "aggregator/peers/peers.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/query/fleet.h"
#include "aggregator/services/subscriber_places.h"
#include "aggregator/services/turns.h"
#include "aggregator/store/store.h"
#include "aggregator/subscribe/hub.h"
#include "base/clock.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::aggregator {

// All transports share the limits of subscribers. Thread-safe.
class Subscriptions {
 public:
  // The arguments must outlive the object.
  Subscriptions(Store* store, Fleet* fleet, Hub* hub, const Clock* clock,
                const Peers* peers)
      : store_(*store),
        fleet_(*fleet),
        hub_(*hub),
        clock_(*clock),
        peers_(*peers),
        watches_(peers, store->id()),
        places_(hub->limits().max_subscribers),
        starts_(Turns::Make(
            [hub](Turns::Task start) { hub->Post(std::move(start)); })) {}

  // Gives a subscriber a place. Returns ResourceExhausted, and counts, if the
  // caller (PeerIdentity::Key) has too many.
  absl::StatusOr<std::unique_ptr<SubscriberPlaces::Place>> Enter(
      const std::string& caller);

  // Must be OK before another aggregator's request begins. See Peers.
  absl::Status CheckPeers() const { return peers_.CheckAny(); }

  // Runs a task that calls Begin on a thread of the hub, because the paths may
  // have to be resolved against the whole fleet. The tasks of a caller take
  // turns.
  void Post(const std::string& caller, Turns::Task task);

  // Returns a subscription that has begun, to the machines of all aggregators
  // if there are peers and the request is not for the own ones only. `listener`
  // is that of its outbox, whose first message must not be taken before the
  // return. Returns the errors of SubscriptionService.Subscribe; if there are
  // peers, the outbox ends with NotFound instead.
  absl::StatusOr<std::shared_ptr<Subscription>> Begin(
      const v1::SubscribeRequest& request, std::function<void()> listener,
      const IsCancelled& is_cancelled);
  // Ends a subscription that Begin has returned, later.
  void End(std::shared_ptr<Subscription> subscription);

  // Must be called when the list of peers has changed.
  void FollowPeers() { watches_.FollowPeers(); }

  void CountLagged(uint64_t values) { hub_.CountLagged(values); }

 private:
  // Returns a subscription to the machines of all aggregators, of which `own`
  // is the part of the own ones.
  std::shared_ptr<Subscription> Merge(const v1::SubscribeRequest& request,
                                      const std::shared_ptr<Subscription>& own,
                                      std::function<void()> listener);

  Store& store_;
  Fleet& fleet_;
  Hub& hub_;
  const Clock& clock_;
  const Peers& peers_;
  FleetWatches watches_;
  absl::Mutex mutex_;
  // The parts of the own machines in subscriptions to those of all aggregators.
  absl::flat_hash_map<const Subscription*, std::shared_ptr<Subscription>>
      own_parts_ ABSL_GUARDED_BY(mutex_);
  SubscriberPlaces places_;
  const std::shared_ptr<Turns> starts_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_SUBSCRIPTIONS_H_
