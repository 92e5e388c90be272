// Replaces old chunks with thinned chunks of the next coarser resolution.
//
// Invariants:
//
// - Thinning goes from full resolution to minutes, and from minutes to hours.
//   Chunks are selected by their time of receipt, oldest period first.
// - One atomic write adds the thinned chunks and deletes the chunks that they
//   replace.
// - The chunks of a machine and epoch are thinned in order. A piece between two
//   chunks is counted in the later one: the thinner first reads the last
//   samples before the chunks that it thins.
// - A chunk stays unchanged if thinning would not shrink it, if it is damaged,
//   or if the result would be too large. It is then listed under a coarser
//   resolution, so that it is not examined again: under the next one if
//   thinning would not shrink it, otherwise under Resolution::kHour.
// - Samples before and after an unchanged chunk are never put into the same
//   thinned chunk. So chunks still hold the samples of a series in order.
// - A failed step is tried again later, after the other machines.

#ifndef FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNING_H_
#define FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNING_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/store/compaction/chunk_group.h"
#include "aggregator/store/compaction/thinner.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/key_numbers.h"
#include "aggregator/store/tables/received_index.h"

namespace fleetperf::aggregator {

// Thread-compatible.
class Thinning {
 public:
  // The arguments must outlive this object.
  Thinning(Database* database, KeyNumbers* numbers)
      : database_(*database), numbers_(*numbers) {}

  // Thins chunks of one machine that have the next finer resolution and were
  // received before `time`. Returns false if there are none. Damaged chunks,
  // and chunks that thinning would not shrink, are left unchanged.
  absl::StatusOr<bool> Step(Resolution resolution, absl::Time time);

 private:
  // Chunks of one machine, ordered by epoch and then by order.
  using Unit = std::vector<ReceivedChunk>;

  absl::Status Thin(const Unit& unit, Resolution resolution);
  absl::Status ThinEpoch(absl::Span<const ReceivedChunk> chunks,
                         Resolution resolution);
  // Thins the first chunks together, and removes them from `chunks`.
  absl::Status ThinFirst(absl::Span<const ReceivedChunk>* chunks,
                         Resolution resolution, ChunkGroupReader* reader,
                         Changes* changes);
  // Returns false if the chunk stays unchanged.
  absl::StatusOr<bool> ThinChunk(const ReceivedChunk& chunk,
                                 ChunkGroupReader* reader, Thinner* thinner,
                                 Transposer* transposer, Changes* changes);
  // Returns whether thinning shrinks the chunk.
  bool Pays(const ReceivedChunk& chunk, Resolution resolution) const;
  absl::Status Put(const ChunkKey& like, Resolution resolution,
                   Transposer* transposer, Changes* changes);
  absl::Status FollowEpoch(const ReceivedChunk& first, Resolution resolution,
                           Thinner* thinner);

  Database& database_;
  KeyNumbers& numbers_;
  // The resolution that next_ is thinned to.
  Resolution next_resolution_ = Resolution::kFull;
  std::vector<Unit> next_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNING_H_
