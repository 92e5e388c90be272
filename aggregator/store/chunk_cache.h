// The heads of chunks, and the losses, of machines that were read before.
// Repeated questions about the same machines neither search the database nor
// parse heads again. Clocks, folds and parts of bodies stay, too, within
// limits.

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
#include "aggregator/store/body_memo.h"
#include "aggregator/store/codec/byte_budget.h"
#include "aggregator/store/codec/chunk.h"
#include "aggregator/store/codec/fold_memo.h"
#include "aggregator/store/tables/chunk_table.h"

namespace fleetperf::aggregator {

// Limits, in bytes, of decoded clocks, calculated folds and parts of bodies
// that stay in memory after a read.
struct ChunkBudgets {
  ByteBudget clocks;
  ByteBudget folds;
  ByteBudget parts;
};

// A chunk whose head is parsed once. Decoded clocks, calculated folds and small
// parts of the body stay as long as the object if the budgets have room for
// them. Thread-safe.
class HeldChunk {
 public:
  // The budgets must outlive the object.
  HeldChunk(StoredChunk stored, ChunkBudgets* budgets)
      : stored_(std::move(stored)),
        clocks_budget_(budgets->clocks),
        folds_(&budgets->folds),
        parts_(&budgets->parts) {}
  ~HeldChunk();
  // The head refers to the object.
  HeldChunk(const HeldChunk&) = delete;
  HeldChunk& operator=(const HeldChunk&) = delete;

  const StoredChunk& stored() const { return stored_; }
  // Returns the head, which this object must outlive, or DataLoss.
  absl::StatusOr<std::shared_ptr<const ChunkHead>> Head() const;
  // Returns the clocks of all ticks, or DataLoss.
  absl::StatusOr<Chunk::Clocks> Clocks() const;
  // Opens the chunk for reading, or returns DataLoss. This object must outlive
  // it. `read_body` reads parts that are not in memory.
  absl::StatusOr<Chunk> Open(Chunk::ReadBody read_body) const;
  // The bytes in memory, about, except those that ChunkBudgets count. Parses
  // the head.
  size_t size() const;

 private:
  const StoredChunk stored_;
  ByteBudget& clocks_budget_;
  mutable FoldMemo folds_;
  mutable BodyMemo parts_;
  mutable absl::Mutex mutex_;
  mutable std::shared_ptr<const ChunkHead> head_ ABSL_GUARDED_BY(mutex_);
  mutable Chunk::Clocks clocks_ ABSL_GUARDED_BY(mutex_);  // null: not kept
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

  // The bytes in memory, about, with parsed heads and without anything that
  // ChunkBudgets count. Parses the heads up to the first with which there are
  // more than `max` bytes, and returns the size so far.
  size_t SizeUpTo(size_t max) const;
};

// Thread-safe.
class ChunkCache {
 public:
  // `max_bytes` is the limit of all chunks and losses, without anything that
  // ChunkBudgets count.
  explicit ChunkCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Returns what is known of the machine, by MACHINE#, in hours that include
  // these; null if the version differs, or if nothing is known.
  std::shared_ptr<const MachineChunks> Find(uint32_t machine,
                                            uint32_t first_hour,
                                            uint32_t last_hour,
                                            uint64_t version);
  // Replaces what is known of the machine, unless the chunks take more than an
  // eighth of the limit. Forgets machines that were not asked for longest, as
  // the limit requires. Without a free eighth, a new machine is put only if it
  // was refused before, and no question has asked for the oldest machine since.
  // So a repeated question about more machines than fit does not replace the
  // machines that it finds. Parses heads.
  void Put(uint32_t machine, std::shared_ptr<const MachineChunks> chunks);

 private:
  struct Entry {
    uint32_t machine = 0;
    size_t size = 0;
    std::shared_ptr<const MachineChunks> chunks;
    uint64_t last_use = 0;  // see uses_
  };

  bool Admits(uint32_t machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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
  // Counts what Find returned and Put took.
  uint64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
  // The number of uses when Put last refused a machine.
  absl::flat_hash_map<uint32_t, uint64_t> refused_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CHUNK_CACHE_H_
