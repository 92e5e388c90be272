#include "aggregator/store/chunk_cache.h"

#include <iterator>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

// A machine takes at most this part of the limit, so that one question about a
// long time does not replace all others.
constexpr size_t kMinMachines = 8;

// The maximum number of refused machines that are remembered.
constexpr size_t kMaxRefused = 1 << 16;

size_t BytesOf(const std::vector<perflib::Clocks>& clocks) {
  return clocks.size() * sizeof(perflib::Clocks);
}

}  // namespace

HeldChunk::~HeldChunk() {
  absl::MutexLock lock(&mutex_);
  if (clocks_ != nullptr) clocks_budget_.Return(BytesOf(*clocks_));
}

absl::StatusOr<std::shared_ptr<const ChunkHead>> HeldChunk::Head() const {
  absl::MutexLock lock(&mutex_);
  if (head_ == nullptr) {
    ASSIGN_OR_RETURN(head_, ChunkHead::Parse(stored_.head));
  }
  return head_;
}

absl::StatusOr<Chunk::Clocks> HeldChunk::Clocks() const {
  ASSIGN_OR_RETURN(const auto head, Head());
  {
    absl::MutexLock lock(&mutex_);
    if (clocks_ != nullptr) return clocks_;
  }
  // Without the lock: clocks without room are decoded for each question.
  ASSIGN_OR_RETURN(auto clocks, head->DecodeClocks());
  absl::MutexLock lock(&mutex_);
  if (clocks_ == nullptr && clocks_budget_.Take(BytesOf(*clocks))) {
    clocks_ = clocks;
  }
  return clocks;
}

absl::StatusOr<Chunk> HeldChunk::Open(Chunk::ReadBody read_body) const {
  ASSIGN_OR_RETURN(auto head, Head());
  auto read = [this, read_body = std::move(read_body)](
                  uint64_t offset,
                  uint64_t size) -> absl::StatusOr<absl::string_view> {
    if (const auto part = parts_.Find(offset, size)) return *part;
    ASSIGN_OR_RETURN(const absl::string_view part, read_body(offset, size));
    parts_.Add(offset, part);
    return part;
  };
  Chunk chunk(std::move(head), stored_.key.epoch_number, std::move(read));
  chunk.SetFolds(&folds_);
  return chunk;
}

size_t HeldChunk::size() const {
  const auto head = Head();
  return sizeof *this + stored_.head.size() + (head.ok() ? (*head)->size() : 0);
}

size_t MachineChunks::SizeUpTo(size_t max) const {
  size_t size = sizeof *this + losses.capacity() * sizeof(Loss) +
                chunks.capacity() * sizeof(chunks[0]);
  for (const Loss& loss : losses) size += loss.machine.capacity();
  for (const auto& chunk : chunks) {
    if (size > max) break;
    size += chunk->size();
  }
  return size;
}

std::shared_ptr<const MachineChunks> ChunkCache::Find(uint32_t machine,
                                                      uint32_t first_hour,
                                                      uint32_t last_hour,
                                                      uint64_t version) {
  std::list<Entry> removed;  // freed after the lock
  absl::MutexLock lock(&mutex_);
  const auto found = by_machine_.find(machine);
  if (found == by_machine_.end()) return nullptr;
  const auto entry = found->second;
  const MachineChunks& chunks = *entry->chunks;
  if (chunks.version != version) {
    Remove(entry, &removed);
    return nullptr;
  }
  if (chunks.first_hour > first_hour || chunks.last_hour < last_hour) {
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  entry->last_use = ++uses_;
  return entry->chunks;
}

void ChunkCache::Put(uint32_t machine,
                     std::shared_ptr<const MachineChunks> chunks) {
  {
    absl::MutexLock lock(&mutex_);
    if (!Admits(machine)) return;
  }
  const size_t max = max_bytes_ / kMinMachines;
  const size_t size = sizeof(Entry) + chunks->SizeUpTo(max);
  // The entry of fewer hours stays. Find removes it if it has changed.
  if (size > max) return;
  std::list<Entry> removed;  // freed after the lock
  absl::MutexLock lock(&mutex_);
  const auto known = by_machine_.find(machine);
  if (known != by_machine_.end()) Remove(known->second, &removed);
  entries_.push_front({.machine = machine,
                       .size = size,
                       .chunks = std::move(chunks),
                       .last_use = ++uses_});
  by_machine_[machine] = entries_.begin();
  bytes_ += size;
  while (bytes_ > max_bytes_) Remove(std::prev(entries_.end()), &removed);
}

bool ChunkCache::Admits(uint32_t machine) {
  if (bytes_ <= max_bytes_ - max_bytes_ / kMinMachines ||
      by_machine_.contains(machine)) {
    return true;
  }
  if (refused_.size() >= kMaxRefused) refused_.clear();
  const auto [refused, is_new] = refused_.try_emplace(machine, uses_);
  if (!is_new && entries_.back().last_use <= refused->second) {
    refused_.erase(refused);
    return true;
  }
  refused->second = uses_;
  return false;
}

void ChunkCache::Remove(std::list<Entry>::iterator entry,
                        std::list<Entry>* removed) {
  bytes_ -= entry->size;
  by_machine_.erase(entry->machine);
  removed->splice(removed->end(), entries_, entry);
}

}  // namespace fleetperf::aggregator
