// One subscriber's share of a feed.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_LISTENER_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_LISTENER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/subscribe/feed_update.h"
#include "aggregator/subscribe/outbox.h"
#include "aggregator/subscribe/sample_position.h"

namespace fleetperf::aggregator {

// Joins what was stored to what comes, without a gap or a repetition between:
// what comes is held back until what is stored has been read, and of it what
// was stored by then is passed over. Thread-safe.
class FeedListener {
 public:
  // Holds updates back, if it `reads_history`, until Release.
  FeedListener(std::shared_ptr<Outbox> outbox, bool reads_history)
      : outbox_(std::move(outbox)), is_holding_(reads_history) {}

  void Deliver(std::shared_ptr<const FeedUpdate> update);

  // History was read, and had what came in these batches.
  void Release(SeenBatches history);

 private:
  // Null: nothing of it is new.
  std::shared_ptr<const FeedUpdate> NewOf(
      std::shared_ptr<const FeedUpdate> update) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Outbox> outbox_;
  absl::Mutex mutex_;
  bool is_holding_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<const FeedUpdate>> held_ ABSL_GUARDED_BY(mutex_);
  uint64_t lagged_ ABSL_GUARDED_BY(mutex_) = 0;  // of what was held
  SeenBatches history_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_LISTENER_H_
