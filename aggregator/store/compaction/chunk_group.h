// Converts whole chunks to frames and frames to chunks, for compaction.

#ifndef FLEETPERF_AGGREGATOR_STORE_COMPACTION_CHUNK_GROUP_H_
#define FLEETPERF_AGGREGATOR_STORE_COMPACTION_CHUNK_GROUP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/compaction/transposer.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/key_numbers.h"

namespace fleetperf::aggregator {

// Reads chunks of a machine. Chunks of the same query share one query object.
// Thread-compatible.
class ChunkGroupReader {
 public:
  // The arguments must outlive the reader.
  ChunkGroupReader(const Database* database, const KeyNumbers* numbers)
      : database_(*database), numbers_(*numbers) {}

  // Reads a whole chunk. Returns DataLoss if it is damaged.
  absl::StatusOr<FrameGroup> Read(const StoredChunk& stored);
  // Reads the raw values of a chunk, and of thinned data what SeriesRun::AddTo
  // needs.
  absl::StatusOr<FrameGroup> ReadRawValues(const StoredChunk& stored);

 private:
  absl::StatusOr<FrameGroup> Read(const StoredChunk& stored, bool only_raw);

  const Database& database_;
  const KeyNumbers& numbers_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<const CollectedQuery>>
      queries_;  // by shape
};

// Encodes and writes a chunk under this key. Returns the sorted shapes of its
// queries.
absl::StatusOr<std::vector<uint32_t>> PutNewChunk(const ChunkKey& key,
                                                  const NewChunk& chunk,
                                                  KeyNumbers* numbers,
                                                  Changes* changes);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_CHUNK_GROUP_H_
