#include "agent/deliver/spool.h"

#include <algorithm>
#include <utility>

#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::agent {

void TickRange::Extend(const TickRange& other) {
  ticks += other.ticks;
  start = std::min(start, other.start);
  end = std::max(end, other.end);
}

void Spool::Append(v1::Batch batch, const TickRange& ticks) {
  absl::MutexLock lock(&mutex_);
  bytes_ += batch.payload().size();
  last_sequence_ = batch.sequence();
  entries_.push_back(
      {std::make_shared<const v1::Batch>(std::move(batch)), ticks});
  while (bytes_ > max_bytes_ && entries_.size() > 1) {
    bytes_ -= entries_.front().batch->payload().size();
    lost_.Extend(entries_.front().ticks);
    entries_.pop_front();
  }
}

std::shared_ptr<const v1::Batch> Spool::Next(uint64_t sequence) const {
  absl::MutexLock lock(&mutex_);
  if (entries_.empty() || sequence >= last_sequence_) return nullptr;
  // Sequences have no holes.
  const uint64_t first = entries_.front().batch->sequence();
  return entries_[sequence < first ? 0 : sequence + 1 - first].batch;
}

void Spool::Acknowledge(uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  while (!entries_.empty() && entries_.front().batch->sequence() <= sequence) {
    bytes_ -= entries_.front().batch->payload().size();
    entries_.pop_front();
  }
  acknowledged_.Notify();
}

Spool::Extent Spool::extent() const {
  absl::MutexLock lock(&mutex_);
  return {.first = entries_.empty() ? last_sequence_ + 1
                                    : entries_.front().batch->sequence(),
          .last = last_sequence_};
}

bool Spool::AwaitAtMost(uint64_t bytes, absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  const auto has_room = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return bytes_ <= bytes;
  };
  return acknowledged_.Await(&mutex_, timeout, has_room);
}

TickRange Spool::TakeLost() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(lost_, {});
}

}  // namespace fleetperf::agent
