// The store's log: batches as received, until they are moved to chunks.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_LOG_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_LOG_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/samples/batch_decoder.h"
#include "aggregator/samples/commit.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/definition_table.h"
#include "aggregator/store/tables/log_index.h"

namespace fleetperf::aggregator {

// A batch of the log.
struct LoggedBatch {
  uint64_t sequence = 0;
  absl::Time received;
  uint64_t fingerprint = 0;
  DecodedBatch decoded;
  std::vector<uint32_t> retired_instances;
};

// Thread-safe.
class Log {
 public:
  // The arguments must outlive the log.
  Log(Database* database, DefinitionTable* definitions)
      : database_(*database), definitions_(*definitions) {}

  // Builds the index of batches.
  absl::Status Load(OnDamage on_damage);

  // Adds a change that stores the batch. Returns its times, for the index.
  static BatchTimes Put(const BatchToCommit& batch, Changes* changes);

  LogIndex& index() { return index_; }
  const LogIndex& index() const { return index_; }

  // Returns whether the log has a batch with this sequence and fingerprint.
  absl::StatusOr<bool> Contains(uint32_t epoch_number, uint64_t sequence,
                                uint64_t fingerprint) const;

  // Calls `use` with each batch of a segment that has ticks between `from` and
  // `to`, in order. Only queries that `filter` accepts are decoded. Unreadable
  // batches are skipped and reported to `on_damage`, with a message that names
  // the batch: DataLoss, or FailedPrecondition if a definition is missing.
  // Stops at the first error of `use` or `on_damage`, and returns it.
  using OnDamagedBatch = absl::FunctionRef<absl::Status(
      uint64_t sequence, const BatchTimes& times, const absl::Status& damage)>;
  absl::Status Read(const LogSegment& segment, absl::Time from, absl::Time to,
                    const QueryFilter& filter, const Snapshot* snapshot,
                    absl::FunctionRef<absl::Status(LoggedBatch batch)> use,
                    OnDamagedBatch on_damage);

  // Reads every batch and calls `use` with the result: OK, or an error that
  // names the batch.
  absl::Status Verify(absl::FunctionRef<void(const absl::Status& status)> use);

  // Adds a change that stores the times of a batch again. Errors are those that
  // Read reports.
  absl::Status List(uint32_t epoch_number, uint64_t sequence, Changes* changes);

  static void Delete(uint32_t epoch_number, uint64_t sequence,
                     Changes* changes);

 private:
  absl::StatusOr<LoggedBatch> Get(absl::string_view key, uint32_t epoch_number,
                                  const QueryFilter& filter,
                                  const Snapshot* snapshot);

  Database& database_;
  DefinitionTable& definitions_;
  LogIndex index_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_LOG_H_
