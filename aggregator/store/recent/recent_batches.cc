#include "aggregator/store/recent/recent_batches.h"

#include <algorithm>
#include <utility>

namespace fleetperf::aggregator {

void RecentBatches::Add(const BatchToCommit& batch, const BatchTimes& times) {
  if (max_bytes_ == 0) return;
  absl::MutexLock lock(&mutex_);
  Epoch& epoch = epochs_[batch.epoch_number];
  const RecentBatch* last =
      epoch.batches.empty() ? nullptr : epoch.batches.back().get();
  auto added = std::make_shared<const RecentBatch>(batch, times, last);
  added->ForEachMachine([&](const std::string& machine) {
    mutex_.AssertHeld();
    AddMachineOf(batch.epoch_number, &epoch, machine);
  });
  for (const Loss& loss : added->losses()) {
    if (loss.machine.empty()) continue;  // see AddMachine
    AddMachineOf(batch.epoch_number, &epoch, loss.machine);
  }
  bytes_ += added->size();
  epoch.batches.push_back(std::move(added));
  order_.push_back(batch.epoch_number);
  const absl::Time expired = times.received - kMaxAge;
  while (!order_.empty() &&
         (bytes_ > max_bytes_ || FirstReceived() < expired)) {
    RemoveFirst();
  }
}

void RecentBatches::AddMachine(const std::string& machine,
                               uint32_t epoch_number) {
  absl::MutexLock lock(&mutex_);
  const auto epoch = epochs_.find(epoch_number);
  if (epoch == epochs_.end()) return;
  AddMachineOf(epoch_number, &epoch->second, machine);
}

void RecentBatches::AddMachineOf(uint32_t epoch_number, Epoch* epoch,
                                 const std::string& machine) {
  if (epoch->machines.insert(machine).second) {
    machines_[machine].epochs.insert(epoch_number);
  }
}

void RecentBatches::RemoveReceivedBefore(absl::Time time) {
  absl::MutexLock lock(&mutex_);
  while (!order_.empty() && FirstReceived() < time) RemoveFirst();
}

absl::Time RecentBatches::FirstReceived() const {
  return epochs_.at(order_.front()).batches.front()->times().received;
}

void RecentBatches::RemoveFirst() {
  const auto epoch = epochs_.find(order_.front());
  order_.pop_front();
  const std::shared_ptr<const RecentBatch> batch =
      std::move(epoch->second.batches.front());
  epoch->second.batches.pop_front();
  // The runs that the next batch shares stay in memory.
  Epoch& of = epoch->second;
  bytes_ -= batch->size() + of.inherited_bytes;
  of.inherited_bytes =
      of.batches.empty() ? 0 : of.batches.front()->SizeSharedWith(*batch);
  bytes_ += of.inherited_bytes;
  const absl::Time newest = batch->times().newest;
  const auto note = [&](const std::string& machine) {
    mutex_.AssertHeld();
    absl::Time& removed = machines_[machine].removed;
    removed = std::max(removed, newest);
  };
  if (batch->losses().empty()) {
    batch->ForEachMachine(note);
  } else {
    for (const std::string& machine : epoch->second.machines) note(machine);
  }
  if (!epoch->second.batches.empty()) return;
  for (const std::string& machine : epoch->second.machines) {
    machines_[machine].epochs.erase(epoch->first);
  }
  epochs_.erase(epoch);
}

RecentBatches::Found RecentBatches::Find(const std::string& machine,
                                         absl::Time from, absl::Time to) const {
  absl::ReaderMutexLock lock(&mutex_);
  Found found = FindEpochs(machine);
  FindBatches(from, to, &found);
  return found;
}

RecentBatches::Found RecentBatches::FindIfComplete(const std::string& machine,
                                                   absl::Time from,
                                                   absl::Time to) const {
  absl::ReaderMutexLock lock(&mutex_);
  Found found = FindEpochs(machine);
  if (found.complete_after < from) FindBatches(from, to, &found);
  return found;
}

RecentBatches::Found RecentBatches::FindEpochs(
    const std::string& machine) const {
  Found found;
  const auto known = machines_.find(machine);
  if (known == machines_.end()) return found;
  for (const uint32_t number : known->second.epochs) {
    const auto& batches = epochs_.at(number).batches;
    found.epochs.push_back({.number = number,
                            .first_sequence = batches.front()->sequence(),
                            .last_sequence = batches.back()->sequence()});
  }
  std::sort(found.epochs.begin(), found.epochs.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  found.complete_after =
      std::max(known->second.never_here, known->second.removed);
  return found;
}

void RecentBatches::FindBatches(absl::Time from, absl::Time to,
                                Found* found) const {
  for (const Found::OfEpoch& epoch : found->epochs) {
    for (const auto& batch : epochs_.at(epoch.number).batches) {
      const BatchTimes& times = batch->times();
      found->oldest = std::min(found->oldest, times.oldest);
      if (times.oldest <= to && times.newest >= from) {
        found->batches.push_back(batch);
      }
    }
  }
}

bool RecentBatches::Found::HasBatchOf(uint32_t epoch_number) const {
  return std::any_of(batches.begin(), batches.end(), [&](const auto& batch) {
    return batch->epoch_number() == epoch_number;
  });
}

uint64_t RecentBatches::Found::FirstSequence(uint32_t epoch_number) const {
  for (const OfEpoch& epoch : epochs) {
    if (epoch.number == epoch_number) return epoch.first_sequence;
  }
  return UINT64_MAX;
}

void RecentBatches::SetNewestElsewhere(const std::string& machine,
                                       absl::Time time) {
  absl::MutexLock lock(&mutex_);
  const auto known = machines_.find(machine);
  if (known != machines_.end()) known->second.never_here = time;
}

uint64_t RecentBatches::size() const {
  absl::ReaderMutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace fleetperf::aggregator
