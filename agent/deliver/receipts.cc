#include "agent/deliver/receipts.h"

#include <algorithm>

namespace fleetperf::agent {
namespace {

// The limit of batches per epoch: about 90 KB, or almost three hours of
// ten-second batches.
constexpr size_t kMaxBatches = 1000;

}  // namespace

std::optional<Receipts::Lost> Receipts::Resume(const std::string& store,
                                               uint64_t epoch,
                                               uint64_t durable) {
  absl::MutexLock lock(&mutex_);
  Epoch& known = epochs_[{store, epoch}];
  std::optional<Lost> lost;
  if (durable < known.acknowledged) {
    lost = {.first_sequence = durable + 1,
            .last_sequence = known.acknowledged,
            .ticks = {},
            .told = {}};
    for (const Batch& batch : known.sent) {
      if (batch.sequence > durable && batch.sequence <= known.acknowledged) {
        lost->ticks.Extend(batch.ticks);
        lost->told.Add(batch.told);
      }
    }
    // The number of ticks in the older batches is unknown.
    if (known.older_sequence > durable) lost->ticks.Extend(known.older);
  }
  known.acknowledged = durable;
  // Unacknowledged batches will be sent again.
  std::erase_if(known.sent,
                [&](const Batch& batch) { return batch.sequence > durable; });
  return lost;
}

void Receipts::AddSent(const std::string& store, uint64_t epoch,
                       uint64_t sequence, const TickRange& ticks,
                       const Losses& told) {
  absl::MutexLock lock(&mutex_);
  Epoch& known = epochs_[{store, epoch}];
  known.sent.push_back({.sequence = sequence, .ticks = ticks, .told = told});
  if (known.sent.size() <= kMaxBatches) return;
  const Batch& oldest = known.sent.front();
  known.older.Extend(
      {.ticks = 0, .start = oldest.ticks.start, .end = oldest.ticks.end});
  known.older_sequence = std::max(known.older_sequence, oldest.sequence);
  known.sent.pop_front();
}

void Receipts::Acknowledge(const std::string& store, uint64_t epoch,
                           uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  const auto found = epochs_.find({store, epoch});
  if (found == epochs_.end()) return;
  found->second.acknowledged = std::max(found->second.acknowledged, sequence);
}

void Receipts::KeepOnly(const std::set<uint64_t>& epochs) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(epochs_, [&](const auto& entry) {
    return !epochs.contains(entry.first.second);
  });
}

}  // namespace fleetperf::agent
