// Puts batches on disk, all that wait in one go, and then acknowledges them:
// twenty times a second, or as soon as a MiB or a task waits. While the disk
// has no room, they wait; agents keep what comes then.

#ifndef FLEETPERF_AGGREGATOR_INGEST_COMMIT_QUEUE_H_
#define FLEETPERF_AGGREGATOR_INGEST_COMMIT_QUEUE_H_

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/ingest/received_batch.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

// Thread-safe.
class CommitQueue {
 public:
  using Batches = std::vector<std::shared_ptr<const ReceivedBatch>>;
  // Calls `on_commit` on its own thread with batches in the order in which they
  // were added, when they are durable or, with an error, cannot be.
  using Listener =
      std::function<void(Batches batches, const absl::Status& status)>;

  CommitQueue(Store* store, Listener on_commit);
  // Commits what is waiting.
  ~CommitQueue();

  void Add(std::shared_ptr<const ReceivedBatch> batch);
  // Runs `task` on the queue's thread, after what was added before is durable
  // or cannot be.
  void Then(std::function<void()> task);

 private:
  void Run();
  void CommitAll(Batches batches);
  absl::Status CommitWhenThereIsRoom(const Batches& batches);
  absl::Status Commit(const Batches& batches);
  // False if the queue is to stop.
  bool WaitForRetry();

  Store& store_;
  const Listener on_commit_;
  absl::Mutex mutex_;
  Batches waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of payloads
  std::vector<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration next_commit_;  // Clock::Monotonic(); the thread's own
  std::thread thread_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_COMMIT_QUEUE_H_
