// Replaces old chunks by thinned ones.

#ifndef FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNING_H_
#define FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNING_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/store/compaction/chunk_group.h"
#include "aggregator/store/compaction/thinner.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/key_numbers.h"

namespace fleetperf::aggregator {

// Thread-compatible.
class Thinning {
 public:
  // Both outlive this.
  Thinning(Database* database, KeyNumbers* numbers)
      : database_(*database), numbers_(*numbers) {}

  // Thins chunks of one machine, which are of the next finer resolution and
  // were received before `time`. False if there are none. Those that are
  // damaged, or would not become smaller, stay as they are.
  absl::StatusOr<bool> Step(Resolution resolution, absl::Time time);

 private:
  // Of one machine and, in their order, of one epoch after the other.
  using Unit = std::vector<ReceivedChunk>;

  absl::Status Thin(const Unit& unit, Resolution resolution);
  absl::Status ThinEpoch(absl::Span<const ReceivedChunk> chunks,
                         Resolution resolution);
  // Takes those away that it has thinned together.
  absl::Status ThinFirst(absl::Span<const ReceivedChunk>* chunks,
                         Resolution resolution, ChunkGroupReader* reader,
                         Changes* changes);
  // False if it stays as it is.
  absl::StatusOr<bool> ThinChunk(const ReceivedChunk& chunk,
                                 ChunkGroupReader* reader, Thinner* thinner,
                                 Transposer* transposer, Changes* changes);
  // Whether what is left of it is less than it is.
  bool Pays(const ReceivedChunk& chunk, Resolution resolution) const;
  absl::Status Put(const ChunkKey& like, Resolution resolution,
                   Transposer* transposer, Changes* changes);
  absl::Status FollowEpoch(const ReceivedChunk& first, Resolution resolution,
                           Thinner* thinner);

  Database& database_;
  KeyNumbers& numbers_;
  Resolution next_resolution_ = Resolution::kFull;  // of next_
  std::vector<Unit> next_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_THINNING_H_
