// Reads samples from memory, from the log and from chunks.

#ifndef FLEETPERF_AGGREGATOR_STORE_SAMPLE_READER_H_
#define FLEETPERF_AGGREGATOR_STORE_SAMPLE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/store/chunk_cache.h"
#include "aggregator/store/recent/recent_batches.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/key_numbers.h"
#include "aggregator/store/tables/log.h"

namespace fleetperf::aggregator {

// Thread-safe.
class SampleReader {
 public:
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

  struct Parts {
    Database* database;
    Log* log;
    KeyNumbers* numbers;
    RecentBatches* recent;
    absl::Mutex* layout;  // see Compactor::Parts
  };
  // The objects that `parts` points to must outlive the reader.
  explicit SampleReader(const Parts& parts) : parts_(parts) {}

  // See Store::Read.
  absl::Status Read(const Store::ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss);

  // Returns the time of a machine's newest sample in the log. std::nullopt if
  // there is none, or if it is not found within a bounded search.
  std::optional<absl::Time> NewestLogged(const std::string& machine);

  // Finds out which samples of a machine are only on disk, once per machine.
  absl::Status FindElsewhere(const std::string& machine);

 private:
  using OnFrame = absl::FunctionRef<absl::Status(const Frame&)>;
  using OnLoss = absl::FunctionRef<void(const Loss&)>;

  // The machine's batches in memory.
  struct Recent {
    RecentBatches::Found found;
    RecentBatch::Selector selector;
  };

  // Queries of the machine being read, by shape. Null: not selected.
  using Queries =
      absl::flat_hash_map<uint32_t, std::shared_ptr<const CollectedQuery>>;

  // Chunks by epoch and order.
  using Chunks = std::vector<std::shared_ptr<const HeldChunk>>;

  // Adds a machine's chunks that may have samples in the range, and reports its
  // losses there. `version` is that of the machine before `snapshot` was taken.
  absl::Status FindChunks(uint32_t machine, std::optional<uint64_t> version,
                          const Store::ReadRequest& request,
                          const Snapshot& snapshot, OnLoss on_loss,
                          Chunks* chunks);
  // Reads what the snapshot has of a machine in these hours. Sets `is_damaged`
  // if a part of it cannot be read.
  absl::StatusOr<std::shared_ptr<MachineChunks>> ListChunks(
      uint32_t machine, uint32_t first_hour, uint32_t last_hour,
      const Store::ReadRequest& request, const Snapshot& snapshot,
      bool* is_damaged) const;

  // Calls `request.on_epoch` for each epoch to be read.
  absl::Status ReportEpochs(const Store::ReadRequest& request,
                            const std::vector<LogSegment>& segments,
                            const Chunks& chunks,
                            const Snapshot& snapshot) const;
  // Returns the sequence of the last batch of an epoch whose samples are in
  // chunks. 0 if unknown.
  absl::StatusOr<uint64_t> LastInChunks(uint32_t epoch_number,
                                        const Snapshot& snapshot) const;

  // Returns null if the request does not select the query.
  absl::StatusOr<std::shared_ptr<const CollectedQuery>> QueryOf(
      uint32_t shape, const Store::ReadRequest& request,
      Queries* queries) const;
  absl::Status ReadChunk(const HeldChunk& held,
                         const Store::ReadRequest& request,
                         const Snapshot& snapshot, Queries* queries,
                         OnFrame on_frame);
  // Reads a segment of the log, as far as possible from memory.
  absl::Status ReadSegment(const LogSegment& segment,
                           const Store::ReadRequest& request,
                           const Snapshot& snapshot, Recent* recent,
                           OnFrame on_frame, OnLoss on_loss);
  absl::Status ReadLogged(const LogSegment& segment,
                          const Store::ReadRequest& request,
                          const Snapshot& snapshot, OnFrame on_frame,
                          OnLoss on_loss);
  // Reads everything from memory.
  absl::Status ReadRecent(const Store::ReadRequest& request, Recent* recent,
                          OnFrame on_frame, OnLoss on_loss);
  absl::Status ReadBatch(const RecentBatch& batch,
                         const Store::ReadRequest& request, Recent* recent,
                         OnFrame on_frame, OnLoss on_loss);

  const Parts parts_;
  mutable ChunkBudgets budgets_{.clocks = ByteBudget(kMaxClocksBytes),
                                .folds = ByteBudget(kMaxFoldsBytes),
                                .parts = ByteBudget(kMaxPartsBytes)};
  ChunkCache cache_{kMaxCachedBytes};
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_SAMPLE_READER_H_
