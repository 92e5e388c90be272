// Hands arriving batches to the subscriptions that watch them.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_H_

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/subscribe/subscription.h"

namespace fleetperf::aggregator {

// Thread-safe.
class Hub : public BatchObserver {
 public:
  Hub();
  ~Hub() override;

  // Called, without any lock, when another set of machines may be watched.
  void SetWatchListener(std::function<void()> listener);

  // ResourceExhausted if there are too many.
  absl::Status Add(const std::shared_ptr<Subscription>& subscription);
  void Remove(const std::shared_ptr<Subscription>& subscription);

  void OnBatch(std::shared_ptr<const ReceivedBatch> batch) override;
  bool IsWatched(const std::string& machine) override;

 private:
  void Run();
  void NotifyWatchListener();

  absl::Mutex mutex_;
  std::set<std::shared_ptr<Subscription>> subscriptions_
      ABSL_GUARDED_BY(mutex_);
  // Those with work to do; each once, so that one thread works on it.
  std::deque<std::shared_ptr<Subscription>> ready_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> watch_listener_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_HUB_H_
