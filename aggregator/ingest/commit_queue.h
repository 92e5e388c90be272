// Commits batches to the store in groups and reports them as durable.
//
// A thread commits all pending batches at once: every 50 ms, or as soon as
// 1 MiB of payloads or a task is pending. While the disk is full, the commit is
// retried every second. Agents retain unacknowledged batches in the meantime.
//
// Invariants:
// - Batches are committed and reported in the order in which they were added.
// - A failed commit reports all its batches with an error. Batches of a broken
//   epoch are discarded, so no batch becomes durable after a lost one.
// - A task runs after the commit of all batches added before it.

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
#include "base/os/clock.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

// Thread-safe.
class CommitQueue {
 public:
  using Batches = std::vector<std::shared_ptr<const ReceivedBatch>>;
  // Receives batches on the queue's thread, in the order in which they were
  // added. `status` is OK if the batches are durable, or the reason why they
  // cannot be.
  using Listener =
      std::function<void(Batches batches, const absl::Status& status)>;

  // `store` and `clock` must outlive the queue.
  CommitQueue(Store* store, const Clock* clock, Listener on_commit);
  // Commits the pending batches.
  ~CommitQueue();

  void Add(std::shared_ptr<const ReceivedBatch> batch);
  // Runs `task` on the queue's thread once all batches added before are durable
  // or have failed.
  void Then(std::function<void()> task);

  // Totals since the start, and the present values of `waiting_*`.
  struct Counts {
    uint64_t commits = 0;
    uint64_t failed_commits = 0;
    absl::Duration time;  // spent in commits, including waits for disk space
    uint64_t waiting_batches = 0;
    uint64_t waiting_bytes = 0;  // of payloads
  };
  Counts counts() const;

  // Returns the error of the last attempt to commit; OK before the first one.
  absl::Status last_status() const;

 private:
  void Run();
  // Returns whether the next commit must not wait for its scheduled time.
  bool IsUrgent() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CommitAll(Batches batches);
  absl::Status CommitWithRetry(const Batches& batches);
  absl::Status Commit(const Batches& batches);
  absl::Status TryCommit(const Batches& batches);
  // Waits for the retry interval. Returns false if the queue is stopping.
  bool WaitForRetry();

  Store& store_;
  const Clock& clock_;
  const Listener on_commit_;
  mutable absl::Mutex mutex_;
  Batches waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of payloads
  std::vector<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);  // except `waiting_*`
  absl::Status last_status_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether the thread waits for work rather than for its next commit time.
  bool is_idle_ ABSL_GUARDED_BY(mutex_) = false;
  Wakeup wakeup_;
  absl::Duration next_commit_;  // Clock::Monotonic(); used only by the thread
  std::thread thread_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_COMMIT_QUEUE_H_
