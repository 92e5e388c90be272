#include "aggregator/ingest/commit_queue.h"

#include <string>
#include <utility>

#include "aggregator/ingest/epoch.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The time between attempts while the disk is full.
constexpr absl::Duration kRetryInterval = absl::Seconds(1);

// A commit costs one disk sync regardless of its number of batches. Batches
// that arrive within this time after a commit share the next one, unless
// kCommitBytes are pending or a task waits for the commit. Subscribers do not
// wait: they receive values before the commit.
constexpr absl::Duration kCommitInterval = absl::Milliseconds(50);
constexpr size_t kCommitBytes = 1 << 20;

}  // namespace

CommitQueue::CommitQueue(Store* store, const Clock* clock, Listener on_commit)
    : store_(*store),
      clock_(*clock),
      on_commit_(std::move(on_commit)),
      wakeup_(clock),
      thread_([this] { Run(); }) {}

CommitQueue::~CommitQueue() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  wakeup_.Notify();
  thread_.join();
}

void CommitQueue::Add(std::shared_ptr<const ReceivedBatch> batch) {
  absl::MutexLock lock(&mutex_);
  const bool was_urgent = IsUrgent();
  waiting_bytes_ += batch->batch.payload().size();
  waiting_.push_back(std::move(batch));
  // Avoids a wakeup per batch: many batches arrive before the next commit.
  if (std::exchange(is_idle_, false) || IsUrgent() != was_urgent) {
    wakeup_.Notify();
  }
}

void CommitQueue::Then(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) wakeup_.Notify();
}

CommitQueue::Counts CommitQueue::counts() const {
  absl::MutexLock lock(&mutex_);
  Counts counts = counts_;
  counts.waiting_batches = waiting_.size();
  counts.waiting_bytes = waiting_bytes_;
  return counts;
}

absl::Status CommitQueue::last_status() const {
  absl::MutexLock lock(&mutex_);
  return last_status_;
}

bool CommitQueue::IsUrgent() const {
  return stopping_ || waiting_bytes_ >= kCommitBytes || !tasks_.empty();
}

void CommitQueue::Run() {
  for (;;) {
    Batches batches;
    std::vector<std::function<void()>> tasks;
    {
      absl::MutexLock lock(&mutex_);
      const auto is_urgent = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return IsUrgent();
      };
      wakeup_.AwaitUntil(&mutex_, next_commit_, is_urgent);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !waiting_.empty() || !tasks_.empty();
      };
      is_idle_ = true;
      wakeup_.Await(&mutex_, has_work);
      is_idle_ = false;
      if (waiting_.empty() && tasks_.empty()) return;
      batches.swap(waiting_);
      waiting_bytes_ = 0;
      tasks.swap(tasks_);
    }
    CommitAll(std::move(batches));
    for (const std::function<void()>& task : tasks) task();
  }
}

void CommitQueue::CommitAll(Batches batches) {
  std::erase_if(batches,
                [](const auto& batch) { return batch->epoch->broken(); });
  if (batches.empty()) return;
  const absl::Duration begin = clock_.Monotonic();
  const absl::Status status = CommitWithRetry(batches);
  {
    absl::MutexLock lock(&mutex_);
    ++(status.ok() ? counts_.commits : counts_.failed_commits);
    counts_.time += clock_.Monotonic() - begin;
  }
  on_commit_(std::move(batches), status);
  next_commit_ = begin + kCommitInterval;
}

absl::Status CommitQueue::CommitWithRetry(const Batches& batches) {
  absl::Status status = Commit(batches);
  if (!absl::IsResourceExhausted(status)) return status;
  LogWarning("not accepting samples until the disk has space: ",
             status.message());
  while (absl::IsResourceExhausted(status)) {
    if (!WaitForRetry()) return status;
    status = Commit(batches);
  }
  if (status.ok()) LogInfo("the disk has space: accepting samples again");
  return status;
}

bool CommitQueue::WaitForRetry() {
  absl::MutexLock lock(&mutex_);
  const auto is_stopping = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_;
  };
  return !wakeup_.Await(&mutex_, kRetryInterval, is_stopping);
}

absl::Status CommitQueue::Commit(const Batches& batches) {
  absl::Status status = TryCommit(batches);
  absl::MutexLock lock(&mutex_);
  last_status_ = status;
  return status;
}

absl::Status CommitQueue::TryCommit(const Batches& batches) {
  RETURN_IF_ERROR(store_.CheckRoom());
  std::vector<BatchToCommit> to_commit;
  to_commit.reserve(batches.size());
  for (const auto& batch : batches) {
    const bool has_samples = batch->reject_reason.empty() && !batch->is_copy;
    to_commit.push_back({.epoch_number = batch->epoch->number(),
                         .sequence = batch->sequence,
                         .agent = batch->epoch->agent(),
                         .fingerprint = batch->fingerprint,
                         .received = batch->received,
                         .batch = has_samples ? &batch->batch : nullptr,
                         .definitions = batch->definitions.get(),
                         .decoded = &batch->decoded});
  }
  return store_.Commit(to_commit);
}

}  // namespace fleetperf::aggregator
