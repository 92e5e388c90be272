#include "aggregator/ingest/commit_queue.h"

#include <utility>

#include "aggregator/ingest/epoch.h"

namespace fleetperf::aggregator {

CommitQueue::CommitQueue(Store* store, Listener on_commit)
    : store_(*store),
      on_commit_(std::move(on_commit)),
      thread_([this] { Run(); }) {}

CommitQueue::~CommitQueue() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void CommitQueue::Add(std::shared_ptr<const ReceivedBatch> batch) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back(std::move(batch));
}

void CommitQueue::Then(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
}

void CommitQueue::Run() {
  for (;;) {
    Batches batches;
    std::vector<std::function<void()>> tasks;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !waiting_.empty() || !tasks_.empty();
      };
      mutex_.Await(absl::Condition(&has_work));
      if (waiting_.empty() && tasks_.empty()) return;
      batches.swap(waiting_);
      tasks.swap(tasks_);
    }
    CommitAll(std::move(batches));
    for (const std::function<void()>& task : tasks) task();
  }
}

void CommitQueue::CommitAll(Batches batches) {
  std::erase_if(batches,
                [](const auto& batch) { return batch->epoch->broken(); });
  if (!batches.empty()) on_commit_(batches, Commit(batches));
}

absl::Status CommitQueue::Commit(const Batches& batches) {
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
