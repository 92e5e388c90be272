#include "agent/deliver/spool/batch_queue.h"

#include <utility>

namespace fleetperf::agent {

void BatchQueue::Add(HeldBatch batch, bool is_saved) {
  const BatchPlace place = batch.spooled.place;
  Remove(place);
  const HeldBatch& added =
      batches_.emplace(place, std::move(batch)).first->second;
  if (added.spooled.batch != nullptr) memory_bytes_ += added.size;
  if (!added.is_dropped()) held_.insert(place);
  AddToSegment(added);
  if (place != batches_.rbegin()->first) {
    runs_.reset();
  } else if (runs_.has_value() && !added.is_dropped()) {
    AppendToRuns(added, &*runs_);
  }
  if (is_saved) return;
  unsaved_.insert(place);
  if (added.spooled.batch != nullptr) unsaved_bytes_ += added.size;
}

void BatchQueue::AddToSegment(const HeldBatch& batch) {
  if (batch.payload.segment == 0) return;
  Segment& segment = segments_[batch.payload.segment];
  ++segment.payloads;
  const uint64_t end = batch.payload.offset + batch.size;
  if (end <= segment.bytes) return;
  file_bytes_ += end - segment.bytes;
  segment.bytes = end;
}

void BatchQueue::ForgetPayload(const HeldBatch& batch) {
  const BatchPlace place = batch.spooled.place;
  if (batch.spooled.batch != nullptr) {
    memory_bytes_ -= batch.size;
    if (unsaved_.contains(place)) unsaved_bytes_ -= batch.size;
    cached_.erase(place);
  }
  const auto segment = segments_.find(batch.payload.segment);
  if (segment == segments_.end() || --segment->second.payloads > 0) return;
  file_bytes_ -= segment->second.bytes;
  segments_.erase(segment);
}

void BatchQueue::RemoveFromRuns(const HeldBatch& batch) {
  if (!runs_.has_value() || batch.is_dropped()) return;
  BatchPlace next = batch.spooled.place;
  ++next.sequence;
  if (!RemoveFirstFromRuns(batch, Find(next), &*runs_)) runs_.reset();
}

const std::vector<HeldRun>& BatchQueue::Runs() {
  if (!runs_.has_value()) runs_ = RunsOf(batches_);
  return *runs_;
}

BatchQueue::Batches::iterator BatchQueue::Erase(Batches::iterator batch) {
  ForgetPayload(batch->second);
  RemoveFromRuns(batch->second);
  held_.erase(batch->first);
  unsaved_.erase(batch->first);
  return batches_.erase(batch);
}

void BatchQueue::Remove(BatchPlace place) {
  const auto found = batches_.find(place);
  if (found != batches_.end()) Erase(found);
}

void BatchQueue::RemoveUpTo(BatchPlace place) {
  auto batch = batches_.lower_bound({.epoch = place.epoch, .sequence = 0});
  while (batch != batches_.end() && batch->first <= place) {
    batch = Erase(batch);
  }
}

void BatchQueue::Drop(BatchPlace place, LossCause cause) {
  const auto found = batches_.find(place);
  if (found == batches_.end()) return;
  HeldBatch& batch = found->second;
  ForgetPayload(batch);
  RemoveFromRuns(batch);
  batch.spooled.batch = nullptr;
  batch.spooled.dropped = cause;
  batch.payload = {};
  batch.size = 0;
  held_.erase(place);
  unsaved_.insert(place);
}

std::vector<HeldBatch> BatchQueue::TakeDroppedAfter(BatchPlace place) {
  std::vector<HeldBatch> dropped;
  auto batch = batches_.upper_bound(place);
  while (batch != batches_.end() && batch->first.epoch == place.epoch) {
    if (!batch->second.is_dropped()) {
      ++batch;
      continue;
    }
    dropped.push_back(batch->second);
    batch = Erase(batch);
  }
  return dropped;
}

const HeldBatch* BatchQueue::Find(BatchPlace place) const {
  const auto found = batches_.find(place);
  return found != batches_.end() ? &found->second : nullptr;
}

const HeldBatch* BatchQueue::Next(BatchPlace place) const {
  const auto next = held_.upper_bound(place);
  return next != held_.end() ? Find(*next) : nullptr;
}

const HeldBatch* BatchQueue::First() const {
  return batches_.empty() ? nullptr : &batches_.begin()->second;
}

bool BatchQueue::HasAny(uint32_t epoch) const {
  const auto batch = batches_.lower_bound({.epoch = epoch, .sequence = 0});
  return batch != batches_.end() && batch->first.epoch == epoch;
}

const HeldBatch* BatchQueue::NextUnsaved(BatchPlace place) const {
  const auto next = unsaved_.upper_bound(place);
  return next != unsaved_.end() ? Find(*next) : nullptr;
}

std::vector<HeldBatch> BatchQueue::Saved() const {
  std::vector<HeldBatch> saved;
  for (const auto& [place, batch] : batches_) {
    if (!unsaved_.contains(place)) saved.push_back(batch);
  }
  return saved;
}

std::vector<HeldBatch> BatchQueue::Unsaved() const {
  std::vector<HeldBatch> unsaved;
  unsaved.reserve(unsaved_.size());
  for (const BatchPlace place : unsaved_) unsaved.push_back(*Find(place));
  return unsaved;
}

void BatchQueue::SetSaved(const std::vector<HeldBatch>& batches) {
  for (const HeldBatch& saved : batches) {
    const auto found = batches_.find(saved.spooled.place);
    if (found == batches_.end()) continue;
    HeldBatch& batch = found->second;
    // A batch dropped in the meantime stays unsaved: the log lacks its remains.
    if (batch.is_dropped() != saved.is_dropped()) continue;
    unsaved_.erase(found->first);
    if (batch.is_dropped()) continue;
    batch.payload = saved.payload;
    AddToSegment(batch);
    unsaved_bytes_ -= batch.size;
    cached_.insert(found->first);
  }
}

void BatchQueue::ShrinkCache(uint64_t bytes) {
  while (!cached_.empty() && memory_bytes_ > bytes + unsaved_bytes_) {
    HeldBatch& batch = batches_.find(*cached_.begin())->second;
    batch.spooled.batch = nullptr;
    memory_bytes_ -= batch.size;
    cached_.erase(cached_.begin());
  }
}

std::set<uint32_t> BatchQueue::Segments() const {
  std::set<uint32_t> segments;
  for (const auto& [number, segment] : segments_) segments.insert(number);
  return segments;
}

}  // namespace fleetperf::agent
