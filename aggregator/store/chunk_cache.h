// The heads of chunks, and the losses, of the machines that were read last:
// repeated questions about the same machines do not search the database, and
// neither parse heads nor decode clocks again.

#ifndef FLEETPERF_AGGREGATOR_STORE_CHUNK_CACHE_H_
#define FLEETPERF_AGGREGATOR_STORE_CHUNK_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/codec/chunk.h"
#include "aggregator/store/tables/chunk_table.h"

namespace fleetperf::aggregator {

// A chunk whose head is parsed once. Thread-safe.
class HeldChunk {
 public:
  explicit HeldChunk(StoredChunk stored) : stored_(std::move(stored)) {}
  // The head refers to the object.
  HeldChunk(const HeldChunk&) = delete;
  HeldChunk& operator=(const HeldChunk&) = delete;

  const StoredChunk& stored() const { return stored_; }
  // Returns the head, which this object must outlive, or DataLoss.
  absl::StatusOr<std::shared_ptr<const ChunkHead>> Head() const;
  // The bytes in memory, about, with decoded clocks. Parses the head.
  size_t size() const;

 private:
  const StoredChunk stored_;
  mutable absl::Mutex mutex_;
  mutable std::shared_ptr<const ChunkHead> head_ ABSL_GUARDED_BY(mutex_);
};

// The heads and losses of a machine in consecutive hours.
struct MachineChunks {
  uint32_t first_hour = 0;
  uint32_t last_hour = 0;
  uint64_t version = 0;  // see MachineVersions
  // By epoch, order, resolution and hour.
  std::vector<std::shared_ptr<const HeldChunk>> chunks;
  // All that overlap these hours.
  std::vector<Loss> losses;

  // The bytes in memory, about, with parsed heads and decoded clocks. Parses
  // the heads up to the first with which there are more than `max` bytes, and
  // returns the size so far.
  size_t SizeUpTo(size_t max) const;
};

// Thread-safe.
class ChunkCache {
 public:
  // `max_bytes` is the limit of all chunks and losses.
  explicit ChunkCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Returns what is known of the machine, by MACHINE#, in hours that include
  // these; null if the version differs, or if nothing is known.
  std::shared_ptr<const MachineChunks> Find(uint32_t machine,
                                            uint32_t first_hour,
                                            uint32_t last_hour,
                                            uint64_t version);
  // Replaces what is known of the machine, unless the chunks take more than an
  // eighth of the limit. Forgets machines that were not asked for longest, as
  // the limit requires. Parses heads.
  void Put(uint32_t machine, std::shared_ptr<const MachineChunks> chunks);

 private:
  struct Entry {
    uint32_t machine = 0;
    size_t size = 0;
    std::shared_ptr<const MachineChunks> chunks;
  };

  // Moves the entry to `removed`, to be freed without the lock.
  void Remove(std::list<Entry>::iterator entry, std::list<Entry>* removed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  absl::Mutex mutex_;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // In the order of their last use, the newest first.
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint32_t, std::list<Entry>::iterator> by_machine_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CHUNK_CACHE_H_
