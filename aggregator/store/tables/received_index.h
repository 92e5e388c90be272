// The index of Family::kChunks by hour of receipt.
//
// Invariants:
//
// - The index lists chunks, losses and fingerprints by hour of receipt.
//   Retention and thinning go by this hour, never by the times of ticks.
// - The index lists a chunk under the resolution that it will be thinned from
//   next. That is the chunk's own resolution, or a coarser one if thinning left
//   the chunk unchanged. Losses and fingerprints are listed under
//   Resolution::kHour.
// - Damaged entries are skipped and reported.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_RECEIVED_INDEX_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_RECEIVED_INDEX_H_

#include <rocksdb/iterator.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/samples/resolution.h"
#include "aggregator/store/tables/chunk_keys.h"
#include "aggregator/store/tables/database.h"

namespace fleetperf::aggregator {

// A chunk as listed in the index of received data.
struct ReceivedChunk {
  ChunkKey key;
  // The resolution that lists the chunk. It is coarser than the chunk's own if
  // thinning left the chunk unchanged.
  Resolution listed = Resolution::kFull;
  std::vector<uint32_t> shapes;
  absl::Time received;  // the start of the hour of receipt
};

// Lists a chunk in the hour of `chunk.received`.
void ListChunk(const ReceivedChunk& chunk, Changes* changes);
// Lists an unchanged chunk under the coarser `resolution`.
void ListAs(Resolution resolution, const ReceivedChunk& chunk,
            Changes* changes);
// Removes a deleted chunk from the index.
void Unlist(const ReceivedChunk& chunk, Changes* changes);

// Returns the chunks of full resolution received in the last `hours` hours,
// counted back from the newest hour with any. They are ordered by machine,
// epoch and order. If the index is damaged, the rest of it is skipped. Damage
// is reported to `on_damage`.
absl::StatusOr<std::vector<ReceivedChunk>> LastReceived(
    const Database& database, uint32_t hours, OnDamage on_damage);

// Returns the chunks to thin next to the resolution `thinned`, ordered as in
// LastReceived: those received in the oldest period of HoursOfChunk(`thinned`)
// hours. Empty if that period ends after `time`.
absl::StatusOr<std::vector<ReceivedChunk>> FirstReceived(
    const Database& database, Resolution thinned, absl::Time time);

// Returns the oldest hour of receipt that a resolution lists; std::nullopt if
// there is none.
absl::StatusOr<std::optional<uint32_t>> FirstHour(const Database& database,
                                                  Resolution resolution);
// Moves an iterator over the index past damaged entries. Returns the hour of
// receipt of the entry; std::nullopt at the end of the resolution.
std::optional<uint32_t> NextHour(rocksdb::Iterator& entry,
                                 Resolution resolution);

// Returns the start of the newest hour in which data that has left the log was
// received. InfinitePast if there is none.
absl::Time NewestReceived(const Database& database);

// The numbers used in chunks, losses and the list of fingerprints.
struct NumbersInUse {
  // MACHINE#, SHAPE#. For losses, SHAPE# is 0, which no shape has.
  std::set<std::pair<uint32_t, uint32_t>> collected;
  uint32_t last_epoch = 0;
};
// Collects the numbers in use. If the index is damaged, the rest of it is
// skipped and the damage is reported to `on_damage`.
absl::StatusOr<NumbersInUse> FindNumbersInUse(const Database& database,
                                              OnDamage on_damage);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_RECEIVED_INDEX_H_
