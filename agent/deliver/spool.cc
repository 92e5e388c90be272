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
  if (sequence >= last_sequence_) return nullptr;
  const auto next = Find(sequence + 1);
  return next != entries_.end() ? next->batch : nullptr;
}

std::deque<Spool::Entry>::const_iterator Spool::Find(uint64_t sequence) const {
  return std::lower_bound(entries_.begin(), entries_.end(), sequence,
                          [](const Entry& entry, uint64_t wanted) {
                            return entry.batch->sequence() < wanted;
                          });
}

void Spool::Acknowledge(uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  while (!entries_.empty() && entries_.front().batch->sequence() <= sequence) {
    bytes_ -= entries_.front().batch->payload().size();
    entries_.pop_front();
  }
  acknowledged_.Notify();
}

void Spool::Reject(uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  ++rejected_.batches;
  const auto found = Find(sequence);
  if (found == entries_.end() || found->batch->sequence() != sequence) return;
  rejected_.ticks += found->ticks.ticks;
  bytes_ -= found->batch->payload().size();
  entries_.erase(found);
  acknowledged_.Notify();
}

Spool::Rejected Spool::rejected() const {
  absl::MutexLock lock(&mutex_);
  return rejected_;
}

void Spool::SetKnown(uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  known_ = sequence;
}

uint64_t Spool::known() const {
  absl::MutexLock lock(&mutex_);
  return known_;
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
