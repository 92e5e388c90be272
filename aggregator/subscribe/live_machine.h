// Evaluates what comes of one machine, for all who watch it.

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
#include "aggregator/subscribe/history_reader.h"
#include "aggregator/subscribe/hub_context.h"
#include "aggregator/subscribe/shared_feed.h"
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
  using Feeds = std::vector<std::shared_ptr<SharedFeed>>;
  // One of these.
  struct Task {
    std::shared_ptr<const ReceivedBatch> batch;
    std::shared_ptr<const Subscription> leaving;
    std::optional<Watcher> joining;
    Feeds primed;
  };
  using Schemas = absl::flat_hash_set<std::shared_ptr<const Schema>>;

  void Push(Task task);
  void Run(Task task);
  // Goes on when all that came before is in the store.
  void WaitForCommits();
  void Join(Watcher watcher);
  void Leave(const Subscription* subscription);
  void Evaluate(const std::shared_ptr<const ReceivedBatch>& batch);
  void TellLagged();
  // Watchers may want something of a counterset that was not seen before.
  void Meet(const std::shared_ptr<const Schema>& schema);
  // What a watcher selects of a counterset; null if nothing. It is new if it
  // has no listeners.
  std::shared_ptr<SharedFeed> FindFeed(
      const Watcher& watcher, const std::shared_ptr<const Schema>& schema);
  // Has feeds primed with what is stored, which all that came before is if
  // `all_is_stored`.
  void Prime(Feeds feeds, bool all_is_stored);
  void GoOn(const Feeds& primed);

  const std::string machine_;
  HubContext& context_;

  // Used by Work alone.
  std::vector<Watcher> watchers_;
  Feeds feeds_;
  Schemas met_;
  // Whether all countersets that are stored are among these. That waits for
  // what came before the first watcher; nobody else waits then.
  bool has_met_stored_ = false;

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
