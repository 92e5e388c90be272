// Hands arriving batches to those who watch their machines.
//
//   batch ─▶ LiveMachine ─▶ Feed ─▶ FeedListener ─▶ Outbox ─▶ subscriber
//            one a machine  what some           one a subscriber
//                           select of it
//
// A feed evaluates its series once, however many listen to it.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/subscribe/history_reader.h"
#include "aggregator/subscribe/hub_context.h"
#include "aggregator/subscribe/live_machine.h"
#include "aggregator/subscribe/subscription.h"

namespace fleetperf::aggregator {

struct HubLimits {
  // Machines whose agents send each tick at once. More that are watched send
  // as they are configured, and their values come at a longer interval.
  int64_t max_live_machines = 1000;
  int64_t max_subscribers = 2000;
  // Of a counterset of a machine: they are in memory at once.
  size_t max_history_values = 4'000'000;
};

// Thread-safe.
class Hub : public BatchObserver {
 public:
  // The interval of machines that are watched and not live.
  static constexpr absl::Duration kWidenedInterval = absl::Seconds(10);

  // Works on so many threads of each kind (see HubContext); with none, WorkOnce
  // does it.
  Hub(Store* store, const HubLimits& limits, int threads = 2);
  ~Hub() override;

  // Ends what is being read and drops what waits to be done. When it returns,
  // none of its threads runs any more, and nothing that it was given is called
  // again: not the store, nor the functions that follow. What comes then is
  // nobody's.
  void Stop();

  // Called, without any lock, when other machines may be live.
  void SetLiveListener(std::function<void()> listener);
  // Has a function called when all that was accepted before is stored.
  // Without, it is called at once. Set before anything is watched.
  void SetAfterCommits(
      std::function<void(std::function<void()>)> after_commits);

  // NotFound if a path selects nothing, ResourceExhausted if there are too many
  // subscribers. Looks through the whole directory: batches may come meanwhile.
  absl::Status Add(const std::shared_ptr<Subscription>& subscription);
  void Remove(const std::shared_ptr<Subscription>& subscription);

  void OnBatch(std::shared_ptr<const ReceivedBatch> batch) override;
  bool IsWatched(const std::string& machine) override;

  // Now; lagged values: since the start.
  struct Counts {
    uint64_t subscribers = 0;
    uint64_t watched_machines = 0;
    uint64_t live_machines = 0;
    uint64_t lagged_values = 0;
  };
  Counts counts() const;
  // A subscriber was told that it lost so many values.
  void CountLagged(uint64_t values) { lagged_values_ += values; }

  // Has one of the threads call it, which delays no values and no ingest: for
  // Add, Remove and what belongs to them.
  void Post(std::function<void()> task);

  // Does a part of what there is to do, of each kind; false if there is
  // nothing.
  bool WorkOnce();

 private:
  struct Machine {
    std::shared_ptr<LiveMachine> machine;
    bool is_live = false;
    absl::flat_hash_set<Subscription*> watchers;
  };
  struct Entry {
    std::shared_ptr<Subscription> subscription;
    std::shared_ptr<HistoryReader> history;  // null: it asks for none
    v1::LiveMachines machines;
    std::vector<std::string> watched;  // the names of these
    // While it begins: lets the subscriber know when the last who has a share
    // of it lets it go.
    std::shared_ptr<void> joining;
  };

  std::unique_ptr<Entry> MakeEntry(
      const std::shared_ptr<Subscription>& subscription);
  // Enters a subscription. The names of all machines that are watched.
  absl::StatusOr<std::vector<std::string>> Enter(
      const std::shared_ptr<Subscription>& subscription);
  // Attaches a subscription to machines that it watches.
  void AttachSome(Subscription* subscription,
                  absl::Span<const std::string> names);
  void DetachSome(const std::shared_ptr<Subscription>& subscription,
                  absl::Span<const std::string> names);
  // The machine if it is watched, entered if it is new; null if it is not.
  Machine* Find(const std::string& machine)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A new machine, which all attach to who watch it; there are some.
  Machine* EnterMachine(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Attach(const std::string& name, Machine* machine, Entry* entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyLiveListener();

  const HubLimits limits_;
  HubContext context_;

  std::atomic<uint64_t> lagged_values_ = 0;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Subscription*, std::unique_ptr<Entry>> subscriptions_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Machine> machines_ ABSL_GUARDED_BY(mutex_);
  int64_t live_machines_ ABSL_GUARDED_BY(mutex_) = 0;
  // Machines that no subscription watches.
  absl::flat_hash_set<std::string> unwatched_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> live_listener_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_H_
