#include "aggregator/store/chunk_cache.h"

#include <iterator>
#include <utility>

#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// A machine takes at most this part of the limit, so that one question about a
// long time does not replace all others.
constexpr size_t kMinMachines = 8;

}  // namespace

absl::StatusOr<std::shared_ptr<const ChunkHead>> HeldChunk::Head() const {
  absl::MutexLock lock(&mutex_);
  if (head_ == nullptr) {
    ASSIGN_OR_RETURN(head_, ChunkHead::Parse(stored_.head));
  }
  return head_;
}

// A tick takes some three bytes in the head, and the size of its clocks when
// they are decoded.
size_t HeldChunk::size() const {
  return sizeof *this + stored_.head.size() +
         stored_.head.size() / 3 * sizeof(perflib::Clocks);
}

size_t MachineChunks::size() const {
  size_t size = sizeof *this + losses.size() * sizeof(Loss);
  for (const auto& chunk : chunks) size += chunk->size();
  return size;
}

std::shared_ptr<const MachineChunks> ChunkCache::Find(uint32_t machine,
                                                      uint32_t first_hour,
                                                      uint32_t last_hour,
                                                      uint64_t version) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_machine_.find(machine);
  if (found == by_machine_.end()) return nullptr;
  const auto entry = found->second;
  const MachineChunks& chunks = *entry->chunks;
  if (chunks.version != version) {
    Remove(entry);
    return nullptr;
  }
  if (chunks.first_hour > first_hour || chunks.last_hour < last_hour) {
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->chunks;
}

void ChunkCache::Put(uint32_t machine,
                     std::shared_ptr<const MachineChunks> chunks) {
  const size_t size = sizeof(Entry) + chunks->size();
  absl::MutexLock lock(&mutex_);
  const auto known = by_machine_.find(machine);
  if (known != by_machine_.end()) Remove(known->second);
  if (size > max_bytes_ / kMinMachines) return;
  entries_.push_front(
      {.machine = machine, .size = size, .chunks = std::move(chunks)});
  by_machine_[machine] = entries_.begin();
  bytes_ += size;
  while (bytes_ > max_bytes_) Remove(std::prev(entries_.end()));
}

void ChunkCache::Remove(std::list<Entry>::iterator entry) {
  bytes_ -= entry->size;
  by_machine_.erase(entry->machine);
  entries_.erase(entry);
}

}  // namespace fleetperf::aggregator
