// One subscriber: what it watches, what waits for it, and its series.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_SUBSCRIPTION_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_SUBSCRIPTION_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/received_batch.h"
#include "aggregator/query/resolver.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::aggregator {

// Where a subscription's messages go. Thread-safe.
class SubscriptionOutlet {
 public:
  virtual ~SubscriptionOutlet() = default;
  // Never blocks: what the subscriber is too slow for is left out and counted.
  virtual void Send(v1::SubscribeResponse response) = 0;
  virtual void End(const absl::Status& status) = 0;
};

class Subscription {
 public:
  // `interval` is the least time between two values of a series.
  Subscription(PathSet paths, absl::Duration interval, Store* store,
               std::shared_ptr<SubscriptionOutlet> outlet);
  ~Subscription();

  // Thread-safe.
  bool IsWatching(const std::string& machine) const {
    return paths_.MatchesMachine(machine);
  }

  // Puts a batch in the queue. If the queue is full, the oldest one goes. True
  // if the subscription had nothing to do, and now has. Thread-safe.
  bool Offer(std::shared_ptr<const ReceivedBatch> batch);

  // Does a part of what there is to do: reads the newest stored samples of a
  // machine, later works off some of the queue. Whether there is more; if not,
  // Offer says when there is. Called by one thread at a time.
  bool Work();

 private:
  class Feed;

  void FindHistory();
  void ReadHistory(const std::string& machine);
  void FinishHistory();
  void AddFrame(const Frame& frame);
  void Flush();

  const PathSet paths_;
  const absl::Duration interval_;
  Store& store_;
  const std::shared_ptr<SubscriptionOutlet> outlet_;

  // Used by Work alone.
  bool reading_history_ = true;
  bool found_history_ = false;
  // Selected machines whose newest samples are still to be read, and what is
  // selected of them.
  Selected history_;
  uint32_t next_series_ = 1;
  size_t live_series_ = 0;  // that the subscriber knows
  // By machine and schema; null if nothing is selected.
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Feed>> feeds_;
  v1::Update update_;

  absl::Mutex mutex_;
  std::deque<std::shared_ptr<const ReceivedBatch>> queue_
      ABSL_GUARDED_BY(mutex_);
  uint64_t lagged_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_work_ ABSL_GUARDED_BY(mutex_) = true;  // the history
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_SUBSCRIPTION_H_
