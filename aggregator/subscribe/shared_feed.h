// A feed of a machine and its listeners.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_SHARED_FEED_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_SHARED_FEED_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/ingest/received_batch.h"
#include "aggregator/query/resolver.h"
#include "aggregator/subscribe/feed.h"
#include "aggregator/subscribe/feed_listener.h"
#include "aggregator/subscribe/history_claim.h"
#include "aggregator/subscribe/history_reader.h"
#include "aggregator/subscribe/hub_context.h"
#include "aggregator/subscribe/sample_position.h"
#include "aggregator/subscribe/series_names.h"
#include "aggregator/subscribe/subscription.h"

namespace fleetperf::aggregator {

// Returns the number of a machine's values in a batch.
uint64_t CountValues(const ReceivedBatch& batch, const std::string& machine);

// A new feed needs the newest stored samples. While a FeedPrimer reads them,
// the feed holds new batches back. Thread-compatible, except Prime and
// FinishPriming.
class SharedFeed {
 public:
  // `context` must outlive the feed.
  SharedFeed(std::string machine, SelectedCounterset selected,
             const FeedForm& form, HubContext* context);

  const SelectedCounterset& selected() const { return selected_; }
  const FeedForm& form() const { return form_; }
  bool IsOf(const SelectedCounterset& selected, const FeedForm& form) const;

  // A new listener.
  struct Joining {
    std::shared_ptr<Subscription> subscription;
    std::shared_ptr<HistoryReader> history;  // nullptr: not requested
    std::shared_ptr<HistoryClaim> claim;     // nullptr like `history`
    // Released when the subscriber has the stored values.
    std::shared_ptr<void> joining;
    // Whether all batches accepted before are stored.
    bool all_is_stored = false;
  };
  // Adds a listener that begins with the requested stored values.
  void Join(Joining joining);
  // Adds a listener that begins with new batches, because none are stored of
  // the counterset.
  void JoinNew(const Subscription& subscription);
  // Removes a listener. Its series end, unless its outbox has ended.
  void Leave(const Subscription* subscription);
  bool HasListeners() const { return !listeners_.empty(); }

  // Evaluates a batch of the machine, unless it was evaluated or stored before.
  void Add(std::shared_ptr<const ReceivedBatch> batch);

  // Between these two calls, one other thread may call Prime and FinishPriming.
  void BeginPriming() { is_priming_ = true; }
  void EndPriming();

  // Adds stored samples.
  void Prime(const Frame& frame) { feed_.Add(frame); }
  // Sets the batches of the stored samples.
  void FinishPriming(SeenBatches batches) {
    seen_ = std::move(batches);
    feed_.TakeUpdate();
  }

 private:
  struct Listening {
    const Subscription* subscription;
    std::shared_ptr<Outbox> outbox;
    std::shared_ptr<FeedListener> listener;
  };
  struct Beginning {
    Joining joining;
    std::shared_ptr<FeedListener> listener;
  };

  std::shared_ptr<FeedListener> Listen(const Subscription& subscription,
                                       bool reads_history);
  void Begin(Beginning beginning);
  void Evaluate(const ReceivedBatch& batch);
  void ReportLagged();

  const std::string machine_;
  const SelectedCounterset selected_;
  const FeedForm form_;
  HubContext& context_;
  const std::shared_ptr<SeriesNames> names_;
  Feed feed_;
  SeenBatches seen_;
  std::vector<Listening> listeners_;

  bool is_priming_ = false;
  std::vector<Beginning> beginning_;
  std::deque<std::shared_ptr<const ReceivedBatch>> held_;
  uint64_t lagged_ = 0;  // values dropped while held
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_SHARED_FEED_H_
