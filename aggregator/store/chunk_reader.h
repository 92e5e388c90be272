// Reads the samples of chunks, and keeps heads and small parts of them in
// memory.

#ifndef FLEETPERF_AGGREGATOR_STORE_CHUNK_READER_H_
#define FLEETPERF_AGGREGATOR_STORE_CHUNK_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/chunk_cache.h"
#include "aggregator/store/codec/byte_budget.h"
#include "aggregator/store/readable_store.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/key_numbers.h"

namespace fleetperf::aggregator {

// Damaged data is logged and reported as a loss. Thread-safe.
class ChunkReader {
 public:
  using OnFrame = absl::FunctionRef<absl::Status(const Frame&)>;
  using OnLoss = absl::FunctionRef<void(const Loss&)>;
  // Chunks by epoch and order.
  using Chunks = std::vector<std::shared_ptr<const HeldChunk>>;
  // Queries of the machine being read, by shape. Null: not selected.
  using Queries =
      absl::flat_hash_map<uint32_t, std::shared_ptr<const CollectedQuery>>;

  // Both arguments must outlive the reader.
  ChunkReader(const Database* database, const KeyNumbers* numbers)
      : database_(*database), numbers_(*numbers) {}

  // Returns a machine's chunks that may have samples in the range, and reports
  // its losses there. `version` is that of the machine before `snapshot` was
  // taken.
  absl::StatusOr<Chunks> Find(uint32_t machine, std::optional<uint64_t> version,
                              const ReadableStore::ReadRequest& request,
                              const Snapshot& snapshot, OnLoss on_loss);

  // Reads a chunk of Find. Returns the first error of `on_frame`. `queries` are
  // those of the request, empty before its first chunk.
  absl::Status Read(const HeldChunk& held,
                    const ReadableStore::ReadRequest& request,
                    const Snapshot& snapshot, Queries* queries,
                    OnFrame on_frame, OnLoss on_loss);

 private:
  // The limit of heads and losses: those of 10,000 machines with two chunks of
  // few series each.
  static constexpr size_t kMaxCachedBytes = size_t{52} << 20;
  // The limit of decoded clocks: an hour of 140 machines, one tick a second.
  static constexpr size_t kMaxClocksBytes = size_t{12} << 20;
  // The limit of calculated folds: 65,536 runs.
  static constexpr size_t kMaxFoldsBytes = size_t{8} << 20;
  // The limit of small parts of bodies: a run of 10,000 machines in each of two
  // chunks, of 700 bytes.
  static constexpr size_t kMaxPartsBytes = size_t{16} << 20;

  // Reads what the snapshot has of a machine in these hours. Sets `is_damaged`
  // if a part of it cannot be read.
  absl::StatusOr<std::shared_ptr<MachineChunks>> List(
      uint32_t machine, uint32_t first_hour, uint32_t last_hour,
      const ReadableStore::ReadRequest& request, const Snapshot& snapshot,
      bool* is_damaged) const;
  // Returns null if the request does not select the query.
  absl::StatusOr<std::shared_ptr<const CollectedQuery>> QueryOf(
      uint32_t shape, const ReadableStore::ReadRequest& request,
      Queries* queries) const;
  // Like Read, but returns DataLoss if the chunk is damaged.
  absl::Status ReadFrames(const HeldChunk& held,
                          const ReadableStore::ReadRequest& request,
                          const Snapshot& snapshot, Queries* queries,
                          OnFrame on_frame);

  const Database& database_;
  const KeyNumbers& numbers_;
  mutable ChunkBudgets budgets_{.clocks = ByteBudget(kMaxClocksBytes),
                                .folds = ByteBudget(kMaxFoldsBytes),
                                .parts = ByteBudget(kMaxPartsBytes)};
  ChunkCache cache_{kMaxCachedBytes};
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CHUNK_READER_H_
