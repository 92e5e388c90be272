// Hands arriving batches to those who watch their machines.
//
//   batch ─▶ LiveMachine ─▶ Feed ─▶ Listener ─▶ Outbox ─▶ subscriber
//            one a machine  what some       one a subscriber
//                           select of it
//
// A feed evaluates its series once, however many listen to it.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/subscribe/history_reader.h"
#include "aggregator/subscribe/hub_task.h"
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

  // Works on so many threads; with none, WorkOnce does it.
  Hub(Store* store, const HubLimits& limits, int threads = 2);
  ~Hub() override;

  // Called, without any lock, when other machines may be live.
  void SetLiveListener(std::function<void()> listener);
  // Has a function called when all that was accepted before is stored.
  // Without, it is called at once. Set before anything is watched.
  void SetAfterCommits(
      std::function<void(std::function<void()>)> after_commits);

  // NotFound if a path selects nothing, ResourceExhausted if there are too many
  // subscribers.
  absl::Status Add(const std::shared_ptr<Subscription>& subscription);
  void Remove(const std::shared_ptr<Subscription>& subscription);

  void OnBatch(std::shared_ptr<const ReceivedBatch> batch) override;
  bool IsWatched(const std::string& machine) override;

  // Has one of the threads do it.
  void Schedule(std::shared_ptr<HubTask> task);

  // Does a part of what there is to do; false if there is nothing.
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
  };

  void Run();
  void DoOne(std::shared_ptr<HubTask> task);
  // The machine if it is watched, entered if it is new; null if it is not.
  Machine* Find(const std::string& machine)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Attach(const std::string& name, Entry* entry,
              std::shared_ptr<void> joining)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyLiveListener();

  const HubLimits limits_;
  HubContext context_;

  absl::Mutex mutex_;
  absl::flat_hash_map<Subscription*, std::unique_ptr<Entry>> subscriptions_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Machine> machines_ ABSL_GUARDED_BY(mutex_);
  int64_t live_machines_ ABSL_GUARDED_BY(mutex_) = 0;
  // Machines that no subscription watches.
  absl::flat_hash_set<std::string> unwatched_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> live_listener_ ABSL_GUARDED_BY(mutex_);

  absl::Mutex ready_mutex_;
  std::deque<std::shared_ptr<HubTask>> ready_ ABSL_GUARDED_BY(ready_mutex_);
  bool stopping_ ABSL_GUARDED_BY(ready_mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_H_
