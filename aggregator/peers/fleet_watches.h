// All subscriptions to the machines of all aggregators.

#ifndef FLEETPERF_AGGREGATOR_PEERS_FLEET_WATCHES_H_
#define FLEETPERF_AGGREGATOR_PEERS_FLEET_WATCHES_H_

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/peers/fleet_watch.h"
#include "aggregator/peers/peers.h"
#include "aggregator/subscribe/outbox.h"
#include "base/wakeup.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::aggregator {

// One thread merges the values of all. Thread-safe.
class FleetWatches {
 public:
  // `peers` must outlive the object. `store_id` is that of the own store.
  FleetWatches(const Peers* peers, std::string store_id);
  // Ends all watches.
  ~FleetWatches();

  // Begins to fill `merged`, the outbox of a subscriber who sent `request`,
  // with the values of all aggregators. `own` is the outbox of a subscription
  // to the own machines only. Sets listeners of both.
  void Add(const v1::SubscribeRequest& request,
           const std::shared_ptr<Outbox>& merged,
           const std::shared_ptr<Outbox>& own);
  // Ends it, later.
  void Remove(const std::shared_ptr<Outbox>& merged);

  // Must be called when the list of peers has changed.
  void FollowPeers();

 private:
  using Key = const Outbox*;  // the merged one

  struct Watch {
    std::unique_ptr<FleetWatch> watch;
    absl::Duration due;  // Clock::Monotonic()
  };

  // The watches with something to do. Listeners of outboxes and streams, which
  // may outlive the thread, keep it alive. Thread-safe.
  class Ready {
   public:
    void Mark(Key key);
    // Makes Wait return.
    void Wake();
    // Waits until Wake, until a watch is marked, or until Clock::Monotonic() is
    // `deadline`. Returns the watches that were marked.
    absl::flat_hash_set<Key> Wait(absl::Duration deadline);

   private:
    absl::Mutex mutex_;
    Wakeup changed_;
    absl::flat_hash_set<Key> marked_ ABSL_GUARDED_BY(mutex_);
    bool is_woken_ ABSL_GUARDED_BY(mutex_) = false;
  };

  // Work for the thread before it goes on.
  struct Changes {
    std::vector<std::pair<Key, std::unique_ptr<FleetWatch>>> added;
    std::vector<Key> removed;
    bool of_peers = false;
    bool is_stopping = false;
  };

  void Run();

  const Peers& peers_;
  const std::string store_id_;
  const std::shared_ptr<Ready> ready_ = std::make_shared<Ready>();
  absl::flat_hash_map<Key, Watch> watches_;  // used by the thread only
  absl::Mutex mutex_;
  Changes changes_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_FLEET_WATCHES_H_
