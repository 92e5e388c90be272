// Moves batches from the log into chunks, and small chunks into large ones;
// removes what is not needed any more.

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
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/definition_table.h"
#include "aggregator/store/tables/epoch_table.h"
#include "aggregator/store/tables/key_numbers.h"
#include "aggregator/store/tables/log.h"
#include "aggregator/store/tables/lost_commits.h"
#include "base/clock.h"

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
    // Held while what is in the log and what is in chunks changes.
    absl::Mutex* layout;
    const Clock* clock;
  };
  // What it points at outlives this.
  explicit Compactor(const Parts& parts)
      : parts_(parts),
        plan_([numbers = parts.numbers](uint32_t a, uint32_t b) {
          const auto one = numbers->ShapeOf(a);
          const auto other = numbers->ShapeOf(b);
          return one.ok() && other.ok() && ShareSeries(**one, **other);
        }),
        thinning_(parts.database, parts.numbers) {}

  // Notes which chunks wait for others of their hour; enters in `directory`
  // what is in chunks.
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
  absl::Status LoadDirectory(Directory* directory, OnDamage on_damage);
  absl::Status StepUntilDone(absl::Time idle_since);
  // Finds what there is to do.
  absl::Status Look(absl::Time idle_since);
  // Takes some of the segments of one epoch; all, and moves none of them, if
  // definitions that they need may still come.
  absl::Status Transpose(std::vector<LogSegment>* segments);
  absl::StatusOr<std::vector<ReceivedChunk>> PutChunks(
      uint32_t epoch_number, const std::vector<NewChunk>& chunks,
      Changes* changes);
  struct NewestSamples;
  absl::Status PutNewest(uint32_t epoch_number, const NewestSamples& samples,
                         Changes* changes);
  absl::Status PutLosses(uint32_t epoch_number,
                         const std::vector<LoggedBatch>& batches,
                         Changes* changes);
  absl::Status Merge(const MergePlan::Group& keys);
  absl::Status ForgetRetired();
  // Definitions that are removed afterwards are not needed again, whatever is
  // lost of the write-ahead log: batches that were moved do not come back.
  absl::Status SecureMoved();

  const Parts parts_;
  // What there is to do: segments by epoch, and chunks to be merged.
  std::vector<std::vector<LogSegment>> to_transpose_;
  std::vector<MergePlan::Group> to_merge_;
  MergePlan plan_;
  Thinning thinning_;
  // Whether the write-ahead log may have what moved batches.
  bool has_moved_ = false;
  // Whether more may have been removed than RocksDB has given back the room of.
  bool owes_compaction_ = true;
  // By machine: epoch and sequence of its newest sample, as they are stored.
  std::map<uint32_t, std::string> newest_;
  // Definitions that nothing in the log uses any more, as epoch and instance,
  // and those of which that is so for some time: until then, somebody may be
  // reading what was there.
  std::vector<std::pair<uint32_t, uint32_t>> retired_;
  std::vector<std::pair<uint32_t, uint32_t>> retired_long_;
  absl::Duration next_forgetting_;  // Clock::Monotonic()
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMPACTION_COMPACTOR_H_
