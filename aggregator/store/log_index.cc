#include "aggregator/store/log_index.h"

#include <algorithm>

namespace fleetperf::aggregator {
namespace {

// A segment is at most this long, so that a query reads little that it does not
// need.
constexpr absl::Duration kSegmentLength = absl::Minutes(5);

}  // namespace

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
      last.times = {oldest, newest, times.received};
      return;
    }
  }
  segments.push_back({epoch_number, sequence, sequence, times});
}

void LogIndex::AddMachine(const std::string& machine, uint32_t epoch_number) {
  absl::MutexLock lock(&mutex_);
  epochs_of_machine_[machine].insert(epoch_number);
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
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.epoch_number, a.first_sequence) <
           std::tie(b.epoch_number, b.first_sequence);
  });
  return found;
}

std::vector<LogSegment> LogIndex::TakeBefore(absl::Time time) {
  std::vector<LogSegment> taken;
  absl::MutexLock lock(&mutex_);
  for (auto& [epoch, segments] : segments_) {
    const auto kept = std::find_if(
        segments.begin(), segments.end(),
        [&](const auto& segment) { return segment.times.received >= time; });
    taken.insert(taken.end(), segments.begin(), kept);
    segments.erase(segments.begin(), kept);
  }
  absl::erase_if(segments_,
                 [](const auto& entry) { return entry.second.empty(); });
  return taken;
}

}  // namespace fleetperf::aggregator
