// Reads the stored values of a subscription's series, one counterset of a
// machine at a time, at the speed of the subscriber.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_HISTORY_READER_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_HISTORY_READER_H_

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/query/resolver.h"
#include "aggregator/subscribe/feed.h"
#include "aggregator/subscribe/feed_listener.h"
#include "aggregator/subscribe/history_claim.h"
#include "aggregator/subscribe/hub_context.h"
#include "aggregator/subscribe/outbox.h"
#include "aggregator/subscribe/series_names.h"

namespace fleetperf::aggregator {

// Thread-safe, except Work.
class HistoryReader : public HubTask,
                      public std::enable_shared_from_this<HistoryReader> {
 public:
  // `context` must outlive the reader.
  HistoryReader(HubContext* context, absl::Time start,
                std::shared_ptr<Outbox> outbox)
      : context_(*context), start_(start), outbox_(std::move(outbox)) {}

  // The history to read, and the listener that holds live updates back until it
  // is read.
  struct Part {
    std::string machine;
    SelectedCounterset selected;
    FeedForm form;
    std::shared_ptr<SeriesNames> names;
    std::shared_ptr<FeedListener> listener;
    std::shared_ptr<HistoryClaim> claim;  // the part is not read after its end
    std::shared_ptr<void> joining;        // released when the history is read
  };
  void Add(Part part);
  // Must be called when the subscriber's outbox is drained.
  void Continue();

  bool Work() override;

 private:
  // Returns the batches of the part.
  absl::StatusOr<SeenBatches> Read(const Part& part);
  // Sends the values since the subscription's start. Returns their number.
  size_t Send(const Part& part, FeedUpdate update);
  void Schedule();

  HubContext& context_;
  const absl::Time start_;
  const std::shared_ptr<Outbox> outbox_;
  absl::Mutex mutex_;
  std::deque<Part> parts_ ABSL_GUARDED_BY(mutex_);
  bool is_scheduled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_HISTORY_READER_H_
