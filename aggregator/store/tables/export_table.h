// Remembers how far an export has taken the samples of each machine: the
// cursor of each epoch, and the chunks with samples that were not taken.
//
// Invariants:
// - A batch of the log was taken if its sequence is at most that of the cursor.
// - A chunk has samples that were not taken only if it is listed here.
// - Merged chunks have no boundaries of batches. So the cursor names the last
//   tick that was taken of each query by its clocks, whose readings identify a
//   tick in an epoch. Of a listed chunk with this tick, the ticks up to it were
//   taken; without it, all if the chunk's order is before that of the tick, and
//   none if it is after. Merging keeps this true: no chunk of the same query
//   lies between merged ones.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_EXPORT_TABLE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_EXPORT_TABLE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/samples/unexported.h"
#include "aggregator/store/tables/chunk_keys.h"
#include "aggregator/store/tables/database.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

// The position of an export in the samples of one machine and epoch.
struct ExportCursor {
  // The last tick of a query, and the order of its chunk or batch then.
  struct Tick {
    uint64_t order = 0;
    perflib::Clocks clocks;
  };

  uint64_t sequence = 0;           // all batches up to this one
  std::map<uint32_t, Tick> ticks;  // by shape

  std::string Encode() const;
  // Returns false if `record` is damaged.
  static bool Decode(absl::string_view record, ExportCursor* cursor);
};

// A chunk with samples that were not taken.
struct UnexportedChunk {
  ChunkKey key;
  uint64_t last_sequence = 0;  // of its batches
  uint64_t values = 0;         // about
  absl::Time received;         // of about its oldest batch
};

// Thread-safe.
class ExportTable {
 public:
  // `database` must outlive the table.
  explicit ExportTable(Database* database) : database_(*database) {}

  // Whether chunks are listed. Ending removes all cursors and lists.
  absl::Status Keep(bool keep);

  // Returns the cursor of a machine and epoch; an empty one if there is none,
  // or if it is damaged.
  absl::StatusOr<ExportCursor> GetCursor(uint32_t epoch_number,
                                         uint32_t machine,
                                         const Snapshot* snapshot) const;
  // Returns the listed chunks of a machine by epoch and order.
  absl::StatusOr<std::vector<UnexportedChunk>> FindChunks(
      uint32_t machine, const Snapshot& snapshot) const;

  // Writes `changes`, which make these chunks from the log. Lists those that
  // were not taken.
  absl::Status WriteNew(absl::Span<const UnexportedChunk> chunks,
                        Changes* changes);
  // Writes `changes`, which replace the chunks `pieces`. Lists `merged` if one
  // of them was listed.
  absl::Status WriteMerged(absl::Span<const ChunkKey> pieces,
                           absl::Span<const ChunkKey> merged, Changes* changes);

  // Stores progress, in order.
  absl::Status Set(absl::Span<const ExportProgress> progress);

  // Adds changes that remove the cursors of an epoch.
  static absl::Status RemoveEpoch(const Database& database,
                                  uint32_t epoch_number, Changes* changes);

 private:
  Database& database_;
  std::atomic<bool> keeps_ = false;
  // Held while chunks change that are or may become listed.
  absl::Mutex mutex_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_EXPORT_TABLE_H_
