// A subscriber's connection to a feed.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_LISTENER_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_LISTENER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/subscribe/feed_update.h"
#include "aggregator/subscribe/outbox.h"
#include "aggregator/subscribe/sample_position.h"

namespace fleetperf::aggregator {

// Joins stored history to live updates without a gap or a repetition. Holds
// updates back until the history is read, and then skips the batches that the
// history contained. Of more held updates than fit in memory, the oldest are
// dropped, except the ends of series. Thread-safe.
class FeedListener {
 public:
  // If `reads_history`, holds updates back until Release.
  FeedListener(std::shared_ptr<Outbox> outbox, bool reads_history)
      : outbox_(std::move(outbox)), is_holding_(reads_history) {}

  void Deliver(std::shared_ptr<const FeedUpdate> update);

  // Sends stored values, before Release.
  void AddHistory(std::shared_ptr<const FeedUpdate> update);

  // Must be called when the history is read. `history` are its batches.
  void Release(SeenBatches history);

  // Ends all series that the subscriber has: those of `ends`, and those of the
  // history. Drops held updates. Later calls of the other functions have no
  // effect.
  void Leave(FeedUpdate ends);

 private:
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns what the subscriber must know of the dropped updates.
  FeedUpdate TakeDropped() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends the part of an update that is new.
  void Send(std::shared_ptr<const FeedUpdate> update)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteEnds(const FeedUpdate& update) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the part of an update that is new; nullptr if none is.
  std::shared_ptr<const FeedUpdate> NewOf(
      std::shared_ptr<const FeedUpdate> update) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Outbox> outbox_;
  absl::Mutex mutex_;
  bool is_holding_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<const FeedUpdate>> held_ ABSL_GUARDED_BY(mutex_);
  uint64_t lagged_ ABSL_GUARDED_BY(mutex_) = 0;  // dropped while held
  // The ids of series that ended in dropped updates and did not return in
  // later ones. Incomplete if there are more than kMaxDroppedEnds.
  absl::flat_hash_set<uint32_t> dropped_ends_ ABSL_GUARDED_BY(mutex_);
  SeenBatches history_ ABSL_GUARDED_BY(mutex_);
  // The ids of series of the history that have not ended. The feed may not know
  // them yet.
  absl::flat_hash_set<uint32_t> in_history_ ABSL_GUARDED_BY(mutex_);
  bool has_left_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_FEED_LISTENER_H_
