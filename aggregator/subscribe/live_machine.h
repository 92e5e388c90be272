// Evaluates the batches of one machine for all its subscribers.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_MACHINE_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_MACHINE_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/received_batch.h"
#include "aggregator/subscribe/history_claim.h"
#include "aggregator/subscribe/history_reader.h"
#include "aggregator/subscribe/hub_context.h"
#include "aggregator/subscribe/shared_feed.h"
#include "aggregator/subscribe/subscription.h"

namespace fleetperf::aggregator {

// Thread-safe, except Work.
class LiveMachine : public HubTask,
                    public std::enable_shared_from_this<LiveMachine> {
 public:
  // `context` must outlive the machine.
  LiveMachine(std::string machine, HubContext* context)
      : machine_(std::move(machine)), context_(*context) {}

  // Queues a new batch. While no thread is free, drops the oldest batches
  // beyond a limit. A batch that is not urgent may wait for other machines'.
  void Offer(std::shared_ptr<const ReceivedBatch> batch, bool is_urgent);

  struct Watcher {
    std::shared_ptr<Subscription> subscription;
    // nullptr: no history was requested.
    std::shared_ptr<HistoryReader> history;
    std::shared_ptr<HistoryClaim> claim;  // nullptr like `history`
    // At least the subscription's interval.
    absl::Duration interval;
    // Released when the subscriber has the stored values.
    std::shared_ptr<void> joining;
  };
  void Attach(Watcher watcher);
  void Detach(std::shared_ptr<const Subscription> subscription);

  bool Work() override;

 private:
  using Feeds = std::vector<std::shared_ptr<SharedFeed>>;
  // Exactly one member is set.
  struct Task {
    std::shared_ptr<const ReceivedBatch> batch;
    std::shared_ptr<const Subscription> leaving;
    std::optional<Watcher> joining;
    Feeds primed;
  };
  using Schemas = absl::flat_hash_set<std::shared_ptr<const Schema>>;

  void Push(Task task, bool is_urgent = true);
  void Run(Task task);
  // Suspends the work until all batches accepted before are stored.
  void WaitForCommits();
  void Join(Watcher watcher);
  void Leave(const Subscription* subscription);
  void Evaluate(const std::shared_ptr<const ReceivedBatch>& batch);
  void ReportLagged();
  // Attaches watchers to a counterset seen for the first time.
  void AddCounterset(const std::shared_ptr<const Schema>& schema);
  // Returns the feed of a watcher's selection of a counterset; nullptr if the
  // watcher selects nothing of it. A new feed has no listeners.
  std::shared_ptr<SharedFeed> FindFeed(
      const Watcher& watcher, const std::shared_ptr<const Schema>& schema);
  // Schedules the priming of feeds with stored samples. `all_is_stored`:
  // whether all batches accepted before are stored.
  void Prime(Feeds feeds, bool all_is_stored);
  void EndPriming(const Feeds& primed);

  const std::string machine_;
  HubContext& context_;

  // Used only by Work.
  std::vector<Watcher> watchers_;
  Feeds feeds_;
  Schemas known_schemas_;
  // Whether known_schemas_ includes all stored countersets. It does once the
  // batches accepted before the first watcher are stored; later watchers do not
  // wait.
  bool has_stored_countersets_ = false;

  absl::Mutex mutex_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t queued_batches_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t lagged_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  // Set until the batches accepted before the first task, a join, are stored.
  bool is_waiting_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_waited_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_MACHINE_H_
