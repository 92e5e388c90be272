// Moves batches from the log to chunks, merges small chunks, and removes data
// that is no longer needed.
//
// Invariants:
//
// - Samples are in the log or in chunks, never in both or neither. One atomic
//   write adds the chunks, losses and fingerprints of batches and deletes these
//   batches from the log.
// - That write and the change of the log's index are made under the mutex
//   `layout`. A reader that takes its snapshot under `layout` sees a consistent
//   state.
// - The batches of an epoch are moved in order of their sequences. Batches that
//   need definitions which may still arrive hold back their epoch. Other
//   unreadable batches are removed for good.
// - Ordered by epoch and order, chunks hold the samples of each series in order
//   of arrival, even if several queries collect the series. Merging preserves
//   this.
// - Definitions are deleted only after the moved batches are in files, so that
//   damage to the write-ahead log cannot bring back batches without
//   definitions.
// - Writes survive the process. A power cut may undo them, but only as a whole.
// - A failed step is found and tried again.

#ifndef FLEETPERF_AGGREGATOR_STORE_COMPACTION_COMPACTOR_H_
#define FLEETPERF_AGGREGATOR_STORE_COMPACTION_COMPACTOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/samples/directory.h"
#include "aggregator/store/compaction/chunk_group.h"
#include "aggregator/store/compaction/merge_plan.h"
#include "aggregator/store/compaction/thinning.h"
#include "aggregator/store/compaction/transposer.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/definition_table.h"
#include "aggregator/store/tables/epoch_table.h"
#include "aggregator/store/tables/export_table.h"
#include "aggregator/store/tables/key_numbers.h"
#include "aggregator/store/tables/log.h"
#include "aggregator/store/tables/lost_commits.h"
#include "aggregator/store/tables/received_index.h"
#include "aggregator/store/tables/received_removal.h"
#include "base/os/clock.h"

namespace fleetperf::aggregator {

// Thread-compatible.
class Compactor {
 public:
  struct Parts {
    Database* database;
    DefinitionTable* definitions;
    Log* log;
    EpochTable* epochs;
    KeyNumbers* numbers;
    LostDefinitions* lost_definitions;
    ExportTable* exports;
    const Directory* directory;
    // Held while samples move between the log and chunks.
    absl::Mutex* layout;
    const Clock* clock;
  };
  // The objects that `parts` points to must outlive the compactor.
  explicit Compactor(const Parts& parts)
      : parts_(parts),
        plan_([numbers = parts.numbers](uint32_t a, uint32_t b) {
          const auto one = numbers->ShapeOf(a);
          const auto other = numbers->ShapeOf(b);
          return one.ok() && other.ok() && ShareSeries(**one, **other);
        }),
        thinning_(parts.database, parts.numbers) {}

  // Finds chunks that wait for others of their hour, and adds the contents of
  // chunks to `directory`.
  absl::Status Load(Directory* directory, OnDamage on_damage);

  // See Store::Compact.
  absl::StatusOr<bool> Step(absl::Time idle_since);

  // See Store::Thin, DropBefore and DropTo.
  absl::StatusOr<bool> Thin(Resolution resolution, absl::Time time) {
    return thinning_.Step(resolution, time);
  }
  absl::Status DropBefore(absl::Time time);
  absl::Status DropTo(uint64_t size);

 private:
  // Has RocksDB release the space of removed data.
  absl::Status Release();
  // Removes `to_free` bytes to make the store fit in `max_size`. Agents'
  // definitions beyond their share are not compensated.
  absl::StatusOr<Removal> Remove(uint64_t to_free, uint64_t max_size);
  absl::Status LoadDirectory(Directory* directory, OnDamage on_damage);
  absl::Status StepUntilDone(absl::Time idle_since);
  // Finds the work to do.
  absl::Status FindWork(absl::Time idle_since);
  // Moves some of the segments of one epoch, and removes them from `segments`.
  // If they need definitions that may still arrive, moves none and clears
  // `segments`.
  absl::Status Transpose(std::vector<LogSegment>* segments);
  // Also returns the chunks in the form in which an export knows them.
  absl::StatusOr<std::vector<ReceivedChunk>> PutChunks(
      uint32_t epoch_number, const std::vector<NewChunk>& chunks,
      std::vector<UnexportedChunk>* unexported, Changes* changes);
  struct NewestSamples;
  absl::Status PutNewest(uint32_t epoch_number, const NewestSamples& samples,
                         Changes* changes);
  absl::Status PutLosses(uint32_t epoch_number,
                         const std::vector<LoggedBatch>& batches,
                         Changes* changes);
  absl::Status Merge(const MergePlan::Group& keys);
  absl::Status DeleteRetired();
  // Writes moved batches to files. After that, definitions can be removed: the
  // batches do not come back, whatever is lost of the write-ahead log.
  absl::Status SecureMoved();

  const Parts parts_;
  // The work to do: segments by epoch, and chunks to merge.
  std::vector<std::vector<LogSegment>> to_transpose_;
  std::vector<MergePlan::Group> to_merge_;
  MergePlan plan_;
  Thinning thinning_;
  // Whether the write-ahead log may still have moved batches.
  bool has_moved_ = false;
  // The newest sample by machine: the encoded epoch and sequence.
  std::map<uint32_t, std::string> newest_;
  // Definitions, as epoch and instance, that the log no longer uses.
  // `retired_long_` has those that have been unused for long enough that no
  // query can still read them.
  std::vector<std::pair<uint32_t, uint32_t>> retired_;
  std::vector<std::pair<uint32_t, uint32_t>> retired_long_;
  absl::Duration next_forgetting_;  // Clock::Monotonic()
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_COMPACTOR_H_
