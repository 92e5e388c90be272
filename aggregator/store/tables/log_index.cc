#include "aggregator/store/tables/log_index.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/keys.h"

namespace fleetperf::aggregator {
namespace {

// The maximum time range of a segment. Short segments keep queries from reading
// many unneeded batches.
constexpr absl::Duration kSegmentLength = absl::Minutes(5);

void SortByOrder(std::vector<LogSegment>* segments) {
  std::sort(segments->begin(), segments->end(),
            [](const auto& a, const auto& b) {
              return std::tie(a.epoch_number, a.first_sequence) <
                     std::tie(b.epoch_number, b.first_sequence);
            });
}

}  // namespace

std::string EncodeTimes(const BatchTimes& times, uint64_t fingerprint) {
  return absl::StrCat(EncodeTime(times.oldest), EncodeTime(times.newest),
                      EncodeTime(times.received), BigEndian(fingerprint));
}

bool DecodeTimes(absl::string_view bytes, BatchTimes* times,
                 uint64_t* fingerprint) {
  return GetTime(&bytes, &times->oldest) && GetTime(&bytes, &times->newest) &&
         GetTime(&bytes, &times->received) &&
         GetBigEndian(&bytes, fingerprint) && bytes.empty();
}

void LogIndex::Add(uint32_t epoch_number, uint64_t sequence,
                   const BatchTimes& times) {
  absl::MutexLock lock(&mutex_);
  std::vector<LogSegment>& segments = segments_[epoch_number];
  if (!segments.empty()) {
    LogSegment& last = segments.back();
    const absl::Time oldest = std::min(last.times.oldest, times.oldest);
    const absl::Time newest = std::max(last.times.newest, times.newest);
    if (newest - oldest <= kSegmentLength) {
      last.last_sequence = sequence;
      ++last.batches;
      last.times = {oldest, newest, times.received};
      return;
    }
  }
  segments.push_back({.epoch_number = epoch_number,
                      .first_sequence = sequence,
                      .last_sequence = sequence,
                      .batches = 1,
                      .times = times});
}

uint64_t LogIndex::CountBatches() const {
  absl::ReaderMutexLock lock(&mutex_);
  uint64_t batches = 0;
  for (const auto& [epoch, segments] : segments_) {
    for (const LogSegment& segment : segments) batches += segment.batches;
  }
  return batches;
}

void LogIndex::AddMachine(const std::string& machine, uint32_t epoch_number) {
  absl::MutexLock lock(&mutex_);
  epochs_of_machine_[machine].insert(epoch_number);
  machines_of_epoch_[epoch_number].insert(machine);
}

std::vector<LogSegment> LogIndex::Find(const std::string& machine,
                                       absl::Time from, absl::Time to) const {
  std::vector<LogSegment> found;
  absl::ReaderMutexLock lock(&mutex_);
  const auto epochs = epochs_of_machine_.find(machine);
  if (epochs == epochs_of_machine_.end()) return found;
  for (const uint32_t epoch : epochs->second) {
    const auto segments = segments_.find(epoch);
    if (segments == segments_.end()) continue;
    for (const LogSegment& segment : segments->second) {
      if (segment.times.oldest <= to && segment.times.newest >= from) {
        found.push_back(segment);
      }
    }
  }
  SortByOrder(&found);
  return found;
}

absl::Time LogIndex::NewestReceived() const {
  absl::Time newest = absl::InfinitePast();
  absl::ReaderMutexLock lock(&mutex_);
  for (const auto& [epoch, segments] : segments_) {
    for (const LogSegment& segment : segments) {
      newest = std::max(newest, segment.times.received);
    }
  }
  return newest;
}

std::vector<LogSegment> LogIndex::Closed(absl::Time idle_since) const {
  std::vector<LogSegment> closed;
  absl::ReaderMutexLock lock(&mutex_);
  for (const auto& [epoch, segments] : segments_) {
    for (const LogSegment& segment : segments) {
      const bool is_last = &segment == &segments.back();
      if (is_last && segment.times.received >= idle_since) continue;
      closed.push_back(segment);
    }
  }
  SortByOrder(&closed);
  return closed;
}

void LogIndex::Remove(const LogSegment& segment) {
  absl::MutexLock lock(&mutex_);
  const auto found = segments_.find(segment.epoch_number);
  if (found == segments_.end()) return;
  std::vector<LogSegment>& segments = found->second;
  std::erase_if(segments, [&](LogSegment& one) {
    if (one.first_sequence != segment.first_sequence) return false;
    if (one.last_sequence <= segment.last_sequence) return true;
    one.first_sequence = segment.last_sequence + 1;
    one.batches -= segment.batches;
    return false;
  });
  if (segments.empty()) segments_.erase(found);
}

bool LogIndex::HasBatches(uint32_t epoch_number) const {
  absl::ReaderMutexLock lock(&mutex_);
  return segments_.contains(epoch_number);
}

std::vector<uint32_t> LogIndex::Epochs() const {
  std::vector<uint32_t> epochs;
  {
    absl::ReaderMutexLock lock(&mutex_);
    for (const auto& entry : segments_) epochs.push_back(entry.first);
  }
  std::sort(epochs.begin(), epochs.end());
  return epochs;
}

void LogIndex::RemoveMachines(uint32_t epoch_number) {
  absl::MutexLock lock(&mutex_);
  const auto machines = machines_of_epoch_.find(epoch_number);
  if (machines == machines_of_epoch_.end()) return;
  for (const std::string& machine : machines->second) {
    const auto epochs = epochs_of_machine_.find(machine);
    if (epochs == epochs_of_machine_.end()) continue;
    epochs->second.erase(epoch_number);
    if (epochs->second.empty()) epochs_of_machine_.erase(epochs);
  }
  machines_of_epoch_.erase(machines);
}

std::vector<std::string> LogIndex::MachinesOf(uint32_t epoch_number) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = machines_of_epoch_.find(epoch_number);
  if (found == machines_of_epoch_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

}  // namespace fleetperf::aggregator
