// Stores chunks, and the index of received data, in Family::kChunks.
//
// Invariants:
//
// - A chunk is one head record, its body in pages of 16 KiB, and one index
//   entry. All of them are written and deleted in the same Changes.
// - The hour of a chunk's key is a multiple of HoursOfChunk(resolution). All
//   ticks of the chunk lie in that many hours from there, by the machine's
//   clock.
// - The chunks of a machine and resolution are ordered by hour, then epoch,
//   then order.
// - The index lists chunks, losses and fingerprints by hour of receipt.
//   Retention and thinning go by this hour, never by the times of ticks.
// - The index lists a chunk under the resolution that it will be thinned from
//   next. That is the chunk's own resolution, or a coarser one if thinning left
//   the chunk unchanged. Losses and fingerprints are listed under
//   Resolution::kHour.
// - Damaged records are skipped and reported. Deleting removes the index entry
//   even if its chunk cannot be read.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_TABLE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_TABLE_H_

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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
// shapes of its queries.
void PutChunk(const ChunkKey& key, absl::Time received,
              const std::vector<uint32_t>& shapes, const EncodedChunk& chunk,
              Changes* changes);
void DeleteChunk(const StoredChunk& chunk, Changes* changes);

// Returns the number of hours that a chunk spans. Its first hour is a multiple
// of this number.
uint32_t HoursOfChunk(Resolution resolution);

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

// A chunk as listed in the index of received data.
struct ReceivedChunk {
  ChunkKey key;
  // The resolution that lists the chunk. It is coarser than the chunk's own if
  // thinning left the chunk unchanged.
  Resolution listed = Resolution::kFull;
  std::vector<uint32_t> shapes;
  absl::Time received;  // the start of the hour of receipt
};

// Returns the chunks of full resolution received in the last `hours` hours,
// counted back from the newest hour with any. They are ordered by machine,
// epoch and order. If the index is damaged, the rest of it is skipped. Damage
// is reported to `on_damage`.
absl::StatusOr<std::vector<ReceivedChunk>> LastReceived(
    const Database& database, uint32_t hours, OnDamage on_damage);

// The numbers used in chunks, losses and the list of fingerprints.
struct NumbersInUse {
  std::set<std::pair<uint32_t, uint32_t>> collected;  // MACHINE#, SHAPE#
  uint32_t last_machine = 0;
  uint32_t last_epoch = 0;
};
// Collects the numbers in use. If the index is damaged, the rest of it is
// skipped and the damage is reported to `on_damage`.
absl::StatusOr<NumbersInUse> FindNumbersInUse(const Database& database,
                                              OnDamage on_damage);

// Returns the start of the newest hour in which data that has left the log was
// received. InfinitePast if there is none.
absl::Time NewestReceived(const Database& database);

// Returns the chunks to thin next to the resolution `thinned`, ordered as in
// LastReceived: those received in the oldest period of HoursOfChunk(`thinned`)
// hours. Empty if that period ends after `time`.
absl::StatusOr<std::vector<ReceivedChunk>> FirstReceived(
    const Database& database, Resolution thinned, absl::Time time);

// Lists an unchanged chunk under the coarser `resolution`.
void ListAs(Resolution resolution, const ReceivedChunk& chunk,
            Changes* changes);
// Removes a deleted chunk from the index.
void Unlist(const ReceivedChunk& chunk, Changes* changes);

// What was deleted to free space.
struct Removal {
  uint64_t bytes = 0;  // approximately
  uint64_t chunks = 0;
  // The hours of receipt of the first and the last chunk.
  uint32_t first_hour = UINT32_MAX;
  uint32_t last_hour = 0;

  void Add(const Removal& other);
};

// Deletes data received in the oldest hour, and writes the deletions: chunks
// with the oldest samples first, until `max` bytes are deleted or none is left,
// and then losses and fingerprints. Adds the epochs of these fingerprints to
// `epochs`. Removal::bytes is 0 if there was nothing to delete.
absl::StatusOr<Removal> DeleteFirstReceived(Database* database, uint64_t max,
                                            std::vector<uint32_t>* epochs);

// Returns the approximate size of a machine's chunks on disk, in bytes.
uint64_t SizeOfChunks(const Database& database, uint32_t machine);

// Deletes chunks of machines, first those received first, and writes the
// deletions. `excess` has, by machine, the bytes to delete, which machines of
// one agent share and which are counted down. Stops when they are 0, or when
// `max` bytes are deleted.
absl::StatusOr<Removal> DeleteExcess(
    Database* database, const std::map<uint32_t, uint64_t*>& excess,
    uint64_t max);

// Deletes up to `max` chunks, losses and fingerprints that were received in
// hours before that of `time`, oldest first. Adds the epochs of the
// fingerprints to `epochs`. Returns false if there are none.
absl::StatusOr<bool> DeleteReceivedBefore(const Database& database,
                                          absl::Time time, size_t max,
                                          Changes* changes,
                                          std::vector<uint32_t>* epochs);

// Returns the chunk with this key. NotFound if it does not exist.
absl::StatusOr<StoredChunk> GetChunk(const Database& database,
                                     const ChunkKey& key);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_TABLE_H_
