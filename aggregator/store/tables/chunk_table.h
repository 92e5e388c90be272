// Chunks in the database.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_TABLE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_TABLE_H_

#include <compare>
#include <cstdint>
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
#include "aggregator/store/tables/database.h"

namespace fleetperf::aggregator {

// Which chunk: those of a machine and resolution are in the order of the hours
// that their ticks are in.
struct ChunkKey {
  uint32_t machine = 0;  // KeyNumbers
  Resolution resolution = Resolution::kFull;
  uint32_t hour = 0;  // the first that its ticks can be in
  uint32_t epoch_number = 0;
  uint64_t order = 0;

  friend auto operator<=>(const ChunkKey&, const ChunkKey&) = default;
};

struct StoredChunk {
  ChunkKey key;
  uint64_t body_size = 0;
  absl::Time received;  // the last of it
  std::string head;
};

// Replaces what is there under this key. `shapes` are those of its queries.
void PutChunk(const ChunkKey& key, absl::Time received,
              const std::vector<uint32_t>& shapes, const EncodedChunk& chunk,
              Changes* changes);
void DeleteChunk(const StoredChunk& chunk, Changes* changes);

// The hours that the ticks of a chunk can be in; its first is a multiple.
uint32_t HoursOfChunk(Resolution resolution);

// Calls `use` with a machine's chunks in which ticks of these hours can be, in
// the order of their keys. `entry` is of the chunks, new or as such a call for
// a machine, resolution and hours before these left it. What is damaged is left
// out, and told to `on_damage`. Ends early with an error of `use`.
absl::Status ForEachChunk(
    rocksdb::Iterator* entry, uint32_t machine, Resolution resolution,
    uint32_t first_hour, uint32_t last_hour,
    absl::FunctionRef<absl::Status(StoredChunk chunk)> use,
    absl::FunctionRef<void(const absl::Status& damage)> on_damage);

// Opens a chunk for reading. The others must outlive it.
absl::StatusOr<Chunk> OpenChunk(const Database& database,
                                const Snapshot* snapshot,
                                const StoredChunk& chunk);

// A chunk as the index of what was received tells of it.
struct ReceivedChunk {
  ChunkKey key;
  // As what it is next to be thinned; coarser than its own if thinning it so
  // far did not pay.
  Resolution listed = Resolution::kFull;
  std::vector<uint32_t> shapes;
  absl::Time received;  // the start of that hour
};

// The chunks of full resolution that were received in the last `hours` in which
// any were, in the order of their keys' machines, epochs and orders. What is
// damaged is left out, with what follows it, and told to `on_damage`.
absl::StatusOr<std::vector<ReceivedChunk>> LastReceived(
    const Database& database, uint32_t hours, OnDamage on_damage);

// The numbers that stand in chunks, losses and the list of fingerprints.
struct NumbersInUse {
  std::set<std::pair<uint32_t, uint32_t>> collected;  // MACHINE#, SHAPE#
  uint32_t last_machine = 0;
  uint32_t last_epoch = 0;
};
// What is damaged is left out, with what follows it, and told to `on_damage`.
absl::StatusOr<NumbersInUse> FindNumbersInUse(const Database& database,
                                              OnDamage on_damage);

// The start of the last hour in which something was received that is no longer
// in the log; InfinitePast if there is none.
absl::Time NewestReceived(const Database& database);

// The chunks that are first to be thinned further, in the same order: those
// received in the first hours, as HoursOfChunk(`thinned`) divides them. None if
// these end behind `time`.
absl::StatusOr<std::vector<ReceivedChunk>> FirstReceived(
    const Database& database, Resolution thinned, absl::Time time);

// Lists a chunk that stays as it is with those of the coarser `resolution`.
void ListAs(Resolution resolution, const ReceivedChunk& chunk,
            Changes* changes);
// A chunk that is gone, or goes.
void Unlist(const ReceivedChunk& chunk, Changes* changes);

// How many bytes were freed, about; 0 if there was nothing to delete. Deletes
// chunks and losses of the hour in which the first were received, and
// fingerprints; adds these' epochs to `epochs`.
absl::StatusOr<uint64_t> DeleteFirstReceived(const Database& database,
                                             Changes* changes,
                                             std::vector<uint32_t>* epochs);

// Deletes chunks, losses and fingerprints all of which were received in hours
// before that of `time`, the first first; `most` at most. False if there are
// none. Adds the fingerprints' epochs to `epochs`.
absl::StatusOr<bool> DeleteReceivedBefore(const Database& database,
                                          absl::Time time, size_t most,
                                          Changes* changes,
                                          std::vector<uint32_t>* epochs);

// The chunk with this key; NotFound if there is none.
absl::StatusOr<StoredChunk> GetChunk(const Database& database,
                                     const ChunkKey& key);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_TABLE_H_
