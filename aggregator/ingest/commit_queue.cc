#include "aggregator/ingest/commit_queue.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "aggregator/ingest/epoch.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// How soon it is noticed that there is room again.
constexpr absl::Duration kRetryInterval = absl::Seconds(1);

// A commit costs the disk a sync, however many batches it has: those that come
// within this time of one share the next, unless so many bytes have, or
// somebody waits for what follows. Values go to subscribers before.
constexpr absl::Duration kCommitInterval = absl::Milliseconds(50);
constexpr size_t kCommitBytes = 1 << 20;

}  // namespace

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
  waiting_bytes_ += batch->batch.payload().size();
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
      const auto is_urgent = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || waiting_bytes_ >= kCommitBytes || !tasks_.empty();
      };
      mutex_.AwaitWithTimeout(absl::Condition(&is_urgent),
                              next_commit_ - Clock::Real().Monotonic());
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !waiting_.empty() || !tasks_.empty();
      };
      mutex_.Await(absl::Condition(&has_work));
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
  const absl::Duration begin = Clock::Real().Monotonic();
  const absl::Status status = CommitWhenThereIsRoom(batches);
  on_commit_(std::move(batches), status);
  next_commit_ = begin + kCommitInterval;
}

absl::Status CommitQueue::CommitWhenThereIsRoom(const Batches& batches) {
  absl::Status status = Commit(batches);
  if (!absl::IsResourceExhausted(status)) return status;
  spdlog::warn("no samples are taken in until there is room: {}",
               std::string(status.message()));
  while (absl::IsResourceExhausted(status)) {
    if (!WaitForRetry()) return status;
    status = Commit(batches);
  }
  if (status.ok()) spdlog::info("there is room: samples are taken in again");
  return status;
}

bool CommitQueue::WaitForRetry() {
  absl::MutexLock lock(&mutex_);
  return !mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kRetryInterval);
}

absl::Status CommitQueue::Commit(const Batches& batches) {
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
