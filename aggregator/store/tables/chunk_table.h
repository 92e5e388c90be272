// Stores chunks in Family::kChunks.
//
// Invariants:
//
// - A chunk is one head record, its body in pages of 16 KiB, and one entry of
//   the index by hour of receipt; see received_index.h. All of them are written
//   and deleted in the same Changes.
// - The hour of a chunk's key is a multiple of HoursOfChunk(resolution). All
//   ticks of the chunk lie in that many hours from there, by the machine's
//   clock.
// - The chunks of a machine and resolution are ordered by hour, then epoch,
//   then order.
// - Damaged records are skipped and reported.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_TABLE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/samples/resolution.h"
#include "aggregator/store/codec/chunk.h"
#include "aggregator/store/codec/chunk_builder.h"
#include "aggregator/store/tables/chunk_keys.h"
#include "aggregator/store/tables/database.h"

namespace fleetperf::aggregator {

struct StoredChunk {
  ChunkKey key;
  uint64_t body_size = 0;
  absl::Time received;  // time of receipt of its newest batch
  std::string head;
};

// Writes a chunk, and replaces any chunk with the same key. `shapes` are the
// shapes of its queries. `received` is the time of receipt of its newest batch.
void PutChunk(const ChunkKey& key, absl::Time received,
              const std::vector<uint32_t>& shapes, const EncodedChunk& chunk,
              Changes* changes);
void DeleteChunk(const StoredChunk& chunk, Changes* changes);
// Deletes all readable pages of a chunk whose head does not give their number.
void DeletePages(const Database& database, const ChunkKey& key,
                 Changes* changes);

// Returns the chunk with this key. NotFound if it does not exist.
absl::StatusOr<StoredChunk> GetChunk(const Database& database,
                                     const ChunkKey& key);

// Calls `use` with each chunk of a machine that may have ticks of these hours,
// in key order. `entry` iterates over Family::kChunks. It must be new, or as
// left by a call for a machine, resolution and hours that sort before these.
// Damaged chunks are skipped and reported to `on_damage`. Stops at the first
// error of `use`, and returns it.
absl::Status ForEachChunk(
    rocksdb::Iterator* entry, uint32_t machine, Resolution resolution,
    uint32_t first_hour, uint32_t last_hour,
    absl::FunctionRef<absl::Status(StoredChunk chunk)> use,
    absl::FunctionRef<void(const absl::Status& damage)> on_damage);

// Opens a chunk for reading. The database, the snapshot and `chunk` must
// outlive it.
absl::StatusOr<Chunk> OpenChunk(const Database& database,
                                const Snapshot* snapshot,
                                const StoredChunk& chunk);
// Returns a function that reads the body of a chunk. The database and the
// snapshot must outlive it.
Chunk::ReadBody BodyOf(const Database& database, const Snapshot* snapshot,
                       const StoredChunk& chunk);

// Returns the approximate size of a machine's chunks on disk, in bytes.
uint64_t SizeOfChunks(const Database& database, uint32_t machine);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_TABLE_H_
