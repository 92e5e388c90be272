// The keys of chunks and of the index by hour of receipt; keys.h lists them.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_KEYS_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_KEYS_H_

#include <compare>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "aggregator/store/tables/keys.h"

namespace fleetperf::aggregator {

// Returns the number of hours that a chunk spans. Its first hour is a multiple
// of this number.
uint32_t HoursOfChunk(Resolution resolution);

// Identifies a chunk. Chunks of a machine and resolution are ordered by the
// hours of their ticks.
struct ChunkKey {
  uint32_t machine = 0;  // assigned by KeyNumbers
  Resolution resolution = Resolution::kFull;
  uint32_t hour = 0;  // the first hour that may have its ticks
  uint32_t epoch_number = 0;
  uint64_t order = 0;

  friend auto operator<=>(const ChunkKey&, const ChunkKey&) = default;
};

std::string HeadKey(const ChunkKey& key);
std::string PageKey(const ChunkKey& key, uint64_t page);

// Returns false if `key` is not the key of a chunk's head.
bool ParseHeadKey(absl::string_view key, ChunkKey* chunk);

// An index key's hour of receipt, and the indexed key of a chunk's head, of
// losses or of fingerprints.
struct Received {
  uint32_t hour = 0;
  absl::string_view key;
};
// Returns false if `key` is not an index key. `received` refers to `key`.
bool ParseReceivedKey(absl::string_view key, Received* received);

// Returns the key after all index entries of this resolution.
std::string EndOfReceived(Resolution resolution);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_CHUNK_KEYS_H_
