// Reads samples, wherever they are: in chunks or still in the log.

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
  // What it points at outlives this.
  explicit SampleReader(const Parts& parts) : parts_(parts) {}

  // See Store::Read.
  absl::Status Read(const Store::ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss);

  // The time of the newest sample of a machine that is in the log; nothing if
  // none is, or none is found soon.
  std::optional<absl::Time> NewestLogged(const std::string& machine);

 private:
  using OnFrame = absl::FunctionRef<absl::Status(const Frame&)>;
  using OnLoss = absl::FunctionRef<void(const Loss&)>;

  // Of the machine that is read, by shape.
  using Queries =
      absl::flat_hash_map<uint32_t, std::shared_ptr<const CollectedQuery>>;

  // Tells `request.on_epoch` what it wants to know.
  absl::Status TellEpochs(const Store::ReadRequest& request,
                          const std::vector<LogSegment>& segments,
                          const std::vector<StoredChunk>& chunks,
                          const Snapshot& snapshot) const;
  // The last batch of an epoch whose samples are in chunks; 0 if it is not
  // known.
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
