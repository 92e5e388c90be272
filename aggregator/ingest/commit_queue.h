// Puts batches on disk, all that wait in one go, and then acknowledges them:
// twenty times a second, or as soon as a MiB or a task waits. While the disk
// has no room, they wait; agents keep what comes then.

#ifndef FLEETPERF_AGGREGATOR_INGEST_COMMIT_QUEUE_H_
#define FLEETPERF_AGGREGATOR_INGEST_COMMIT_QUEUE_H_

#include <cstdint>
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
#include "base/clock.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

// Thread-safe.
class CommitQueue {
 public:
  using Batches = std::vector<std::shared_ptr<const ReceivedBatch>>;
  // Calls `on_commit` on its own thread with batches in the order in which they
  // were added, when they are durable or, with an error, cannot be.
  using Listener =
      std::function<void(Batches batches, const absl::Status& status)>;

  // `store` and `clock` outlive this.
  CommitQueue(Store* store, const Clock* clock, Listener on_commit);
  // Commits what is waiting.
  ~CommitQueue();

  void Add(std::shared_ptr<const ReceivedBatch> batch);
  // Runs `task` on the queue's thread, after what was added before is durable
  // or cannot be.
  void Then(std::function<void()> task);

  // Since the start; what waits: now.
  struct Counts {
    uint64_t commits = 0;
    uint64_t failed_commits = 0;
    absl::Duration time;  // that commits took, with waiting for room
    uint64_t waiting_batches = 0;
    uint64_t waiting_bytes = 0;  // of payloads
  };
  Counts counts() const;

 private:
  void Run();
  // Whether what waits is not to wait for the next commit's time.
  bool IsUrgent() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CommitAll(Batches batches);
  absl::Status CommitWhenThereIsRoom(const Batches& batches);
  absl::Status Commit(const Batches& batches);
  // False if the queue is to stop.
  bool WaitForRetry();

  Store& store_;
  const Clock& clock_;
  const Listener on_commit_;
  mutable absl::Mutex mutex_;
  Batches waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of payloads
  std::vector<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);  // but for what waits
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // The thread waits for anything to do, and not for its next commit.
  bool is_idle_ ABSL_GUARDED_BY(mutex_) = false;
  Wakeup wakeup_;
  absl::Duration next_commit_;  // Clock::Monotonic(); the thread's own
  std::thread thread_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_COMMIT_QUEUE_H_
