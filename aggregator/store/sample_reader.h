// Reads samples from chunks and from the log.

#ifndef FLEETPERF_AGGREGATOR_STORE_SAMPLE_READER_H_
#define FLEETPERF_AGGREGATOR_STORE_SAMPLE_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/key_numbers.h"
#include "aggregator/store/tables/log.h"

namespace fleetperf::aggregator {

// Thread-safe.
class SampleReader {
 public:
  struct Parts {
    Database* database;
    Log* log;
    KeyNumbers* numbers;
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

 private:
  using OnFrame = absl::FunctionRef<absl::Status(const Frame&)>;
  using OnLoss = absl::FunctionRef<void(const Loss&)>;

  // Queries of the machine being read, by shape.
  using Queries =
      absl::flat_hash_map<uint32_t, std::shared_ptr<const CollectedQuery>>;

  // Calls `request.on_epoch` for each epoch to be read.
  absl::Status ReportEpochs(const Store::ReadRequest& request,
                            const std::vector<LogSegment>& segments,
                            const std::vector<StoredChunk>& chunks,
                            const Snapshot& snapshot) const;
  // Returns the sequence of the last batch of an epoch whose samples are in
  // chunks. 0 if unknown.
  absl::StatusOr<uint64_t> LastInChunks(uint32_t epoch_number,
                                        const Snapshot& snapshot) const;

  absl::Status ReadChunk(const StoredChunk& stored,
                         const Store::ReadRequest& request,
                         const Snapshot& snapshot, Queries* queries,
                         OnFrame on_frame);
  absl::Status ReadSegment(const LogSegment& segment,
                           const Store::ReadRequest& request,
                           const Snapshot& snapshot, OnFrame on_frame,
                           OnLoss on_loss);

  const Parts parts_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_SAMPLE_READER_H_
