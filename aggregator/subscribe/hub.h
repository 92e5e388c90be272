// Distributes arriving batches to the subscribers of their machines.
//
//   batch ─▶ LiveMachine ─▶ Feed ─▶ FeedListener ─▶ Outbox ─▶ subscriber
//
//   LiveMachine   one per watched machine
//   Feed          one per machine, counterset and selection
//   FeedListener  one per feed and subscriber
//   Outbox        one per subscriber
//
// A feed evaluates its series once, regardless of the number of listeners.

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
#include "aggregator/subscribe/history_claim.h"
#include "aggregator/subscribe/history_reader.h"
#include "aggregator/subscribe/hub_context.h"
#include "aggregator/subscribe/live_machine.h"
#include "aggregator/subscribe/subscription.h"

namespace fleetperf::aggregator {

struct HubLimits {
  // The limit of machines whose agents send each tick at once. Agents of
  // further watched machines send batches as configured, and the values of
  // these machines have a longer interval.
  int64_t max_live_machines = 1000;
  int64_t max_subscribers = 2000;
  // The limit of history values of a machine's counterset, which are all in
  // memory at once.
  size_t max_history_values = 4'000'000;
};

// Thread-safe.
class Hub : public BatchObserver {
 public:
  // The interval of watched machines that are not live. Subscriptions with this
  // interval or a longer one make no machine live.
  static constexpr absl::Duration kWidenedInterval = absl::Seconds(10);

  // Starts `threads` threads for each kind of work (see HubContext). With none,
  // WorkOnce does the work. `store` must outlive the hub.
  Hub(Store* store, const HubLimits& limits, int threads = 2);
  ~Hub() override;

  // Sets where the history of subscriptions is read; without it, from the
  // store. Must be called before the first subscription, and the samples must
  // outlive the hub.
  void SetHistory(ReadableStore* samples) {
    context_.history_samples = samples;
  }

  // Ends reads in progress, drops pending work, and joins the threads. After
  // the return, the hub calls neither the store nor the functions set below,
  // and ignores new batches.
  void Stop();

  // Sets a function that is called, without any lock, when the set of live
  // machines may have changed.
  void SetLiveListener(std::function<void()> listener);
  // Sets a function that calls its argument once all batches accepted before
  // are stored. Without it, arguments are called at once. Must be called before
  // the first subscription.
  void SetAfterCommits(
      std::function<void(std::function<void()>)> after_commits);

  // Returns NotFound if no path selects anything, and ResourceExhausted if
  // there are too many subscribers. Otherwise, adds the errors of paths that
  // select nothing to `missed`, unless it is nullptr.
  // Scans the whole directory; batches may arrive meanwhile.
  absl::Status Add(const std::shared_ptr<Subscription>& subscription,
                   std::vector<absl::Status>* missed = nullptr,
                   const IsCancelled& is_cancelled = {});
  void Remove(const std::shared_ptr<Subscription>& subscription);

  // Compares machines whose labels have changed with the subscriptions, on a
  // thread for beginning and ending subscriptions. A subscription that begins
  // to select a machine gets its values as if the machine were new, but the
  // requested stored values only once. If a subscription no longer selects a
  // machine, its series end.
  void SelectAgain(std::vector<std::string> machines);

  void OnBatch(std::shared_ptr<const ReceivedBatch> batch) override;
  bool IsWatched(const std::string& machine) override;

  const HubLimits& limits() const { return limits_; }

  // Current counts, except lagged_values and refused_subscribers, which count
  // since the start.
  struct Counts {
    uint64_t subscribers = 0;
    uint64_t watched_machines = 0;
    uint64_t live_machines = 0;
    uint64_t lagged_values = 0;
    uint64_t refused_subscribers = 0;
  };
  Counts counts() const;
  // Counts values dropped for a subscriber.
  void CountLagged(uint64_t values) { lagged_values_ += values; }
  // Counts a subscriber that did not get a place.
  void CountRefused() { ++refused_subscribers_; }

  // Runs `task` on one of the threads for beginning and ending subscriptions,
  // which delays neither values nor ingest.
  void Post(std::function<void()> task);

  // Runs one step of each kind of work. Returns false if no work is pending.
  bool WorkOnce();

 private:
  struct Machine {
    std::shared_ptr<LiveMachine> machine;
    bool is_live = false;
    absl::flat_hash_set<Subscription*> watchers;
    size_t live_watchers = 0;  // those that need a live machine
  };
  struct Entry {
    std::shared_ptr<Subscription> subscription;
    std::shared_ptr<HistoryReader> history;  // nullptr: not requested
    v1::LiveMachines machines;
    // The names of `machines`. A machine whose history is not to be sent has
    // nullptr.
    absl::flat_hash_map<std::string, std::shared_ptr<HistoryClaim>> watched;
    // Machines that were watched before, and got their history.
    absl::flat_hash_set<std::string> had_history;
    // Set while the subscription begins. The release of the last reference
    // notifies the subscriber.
    std::shared_ptr<void> joining;
  };

  std::unique_ptr<Entry> MakeEntry(
      const std::shared_ptr<Subscription>& subscription);
  // Registers a subscription. Returns the names of all watched machines, and
  // sets `unwatched` to those of `unwatched_`.
  absl::StatusOr<std::vector<std::string>> Enter(
      const std::shared_ptr<Subscription>& subscription,
      std::vector<std::string>* unwatched);
  void ForgetUnwatched(absl::Span<const std::string> names);
  // Attaches a subscription to some of its machines.
  void AttachSome(Subscription* subscription,
                  absl::Span<const std::string> names);
  void DetachSome(const std::shared_ptr<Subscription>& subscription,
                  absl::Span<const std::string> names);
  // Returns a watched machine, and registers it if it is new. Returns nullptr
  // if the machine is not watched.
  Machine* Find(const std::string& machine)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Registers a watched machine and attaches its subscriptions. Returns nullptr
  // if the machine is not watched.
  Machine* EnterMachine(const std::string& name, const Labels& labels)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Attach(const std::string& name, Machine* machine, Entry* entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Detach(const std::string& name, Machine* machine, Entry* entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Make a subscription a watcher of a machine, or end that.
  void AddWatcher(Subscription* subscription, Machine* machine)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveWatcher(Subscription* subscription, Machine* machine)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes a machine that is no longer watched.
  void RemoveIfUnwatched(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Handles the machines of `changed_`.
  void SelectChangedAgain();
  // Returns whether the set of watched machines may have changed.
  bool SelectOneAgain(const std::string& name);
  bool UsesLabels() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the labels of a machine; none if no subscription uses labels.
  Labels LabelsOf(const std::string& machine) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyLiveListener();

  const HubLimits limits_;
  HubContext context_;

  std::atomic<uint64_t> lagged_values_ = 0;
  std::atomic<uint64_t> refused_subscribers_ = 0;

  absl::Mutex changed_mutex_;
  // Machines whose labels have changed. Unless empty, a task for them waits.
  absl::flat_hash_set<std::string> changed_ ABSL_GUARDED_BY(changed_mutex_);

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Subscription*, std::unique_ptr<Entry>> subscriptions_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Machine> machines_ ABSL_GUARDED_BY(mutex_);
  int64_t live_machines_ ABSL_GUARDED_BY(mutex_) = 0;
  // Machines known to have no subscription.
  absl::flat_hash_set<std::string> unwatched_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> live_listener_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_H_
