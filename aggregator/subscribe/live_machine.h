// Evaluates what comes of one machine, for all who watch it.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_MACHINE_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_MACHINE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/received_batch.h"
#include "aggregator/query/resolver.h"
#include "aggregator/subscribe/feed.h"
#include "aggregator/subscribe/history_reader.h"
#include "aggregator/subscribe/hub_task.h"
#include "aggregator/subscribe/listener.h"
#include "aggregator/subscribe/series_names.h"
#include "aggregator/subscribe/subscription.h"

namespace fleetperf::aggregator {

// Thread-safe, but for Work.
class LiveMachine : public HubTask,
                    public std::enable_shared_from_this<LiveMachine> {
 public:
  // `context` outlives this.
  LiveMachine(std::string machine, HubContext* context)
      : machine_(std::move(machine)), context_(*context) {}

  // Queues a batch that came. If nobody works, the oldest ones go.
  void Offer(std::shared_ptr<const ReceivedBatch> batch);

  struct Watcher {
    std::shared_ptr<Subscription> subscription;
    // Null: it asks for no history.
    std::shared_ptr<HistoryReader> history;
    // Not less than what the subscription says.
    absl::Duration interval;
    // Let go when it has got what is stored.
    std::shared_ptr<void> joining;
  };
  void Attach(Watcher watcher);
  void Detach(std::shared_ptr<const Subscription> subscription);

  bool Work() override;

 private:
  // One of these.
  struct Task {
    std::shared_ptr<const ReceivedBatch> batch;
    std::shared_ptr<const Subscription> leaving;
    std::optional<Watcher> joining;
  };
  struct SharedFeed {
    SharedFeed(SelectedCounterset selected_counterset,
               const FeedForm& feed_form,
               std::shared_ptr<SeriesNames> series_names)
        : selected(std::move(selected_counterset)),
          form(feed_form),
          names(std::move(series_names)),
          feed(selected, form, names.get()) {}

    const SelectedCounterset selected;
    const FeedForm form;
    const std::shared_ptr<SeriesNames> names;
    Feed feed;
    std::vector<std::pair<const Subscription*, std::shared_ptr<Listener>>>
        listeners;
  };
  using Schemas = absl::flat_hash_set<std::shared_ptr<const Schema>>;

  void Push(Task task);
  void Run(Task task);
  void Join(Watcher watcher);
  void Leave(const Subscription* subscription);
  void Evaluate(const ReceivedBatch& batch);
  // Watchers may want something of a counterset that was not seen before.
  void Meet(const std::shared_ptr<const Schema>& schema);
  // What a watcher selects of a counterset; null if nothing. It is new if it
  // has no listeners.
  SharedFeed* FindFeed(const Watcher& watcher,
                       const std::shared_ptr<const Schema>& schema);
  // Gives feeds the newest stored samples, on which the next values rest.
  void Prime(const std::vector<SharedFeed*>& feeds);

  const std::string machine_;
  HubContext& context_;

  // Used by Work alone.
  std::vector<Watcher> watchers_;
  std::vector<std::unique_ptr<SharedFeed>> feeds_;
  Schemas met_;

  absl::Mutex mutex_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t queued_batches_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t lagged_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  // Until what came before the first task, which joins, is in the store.
  bool is_waiting_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_waited_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_LIVE_MACHINE_H_
