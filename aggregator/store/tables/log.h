// The store's log: batches as they came, until they are put into chunks.

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

// A record of the family "times"; false if it is none.
bool DecodeTimes(absl::string_view bytes, BatchTimes* times,
                 uint64_t* fingerprint);

// Thread-safe.
class Log {
 public:
  // Both outlive this.
  Log(Database* database, DefinitionTable* definitions)
      : database_(*database), definitions_(*definitions) {}

  // Reads which batches there are.
  absl::Status Load(OnDamage on_damage);

  static BatchTimes Put(const BatchToCommit& batch, Changes* changes);

  LogIndex& index() { return index_; }
  const LogIndex& index() const { return index_; }

  // Whether it has this batch.
  absl::StatusOr<bool> Contains(uint32_t epoch_number, uint64_t sequence,
                                uint64_t fingerprint) const;

  // Calls `use` with the batches of a segment that have ticks between `from`
  // and `to`, in their order; of these, with the queries that `filter` takes.
  // What cannot be read is left out, and told to `on_damage` by its name:
  // DataLoss, or FailedPrecondition if a definition that it needs is not here.
  // Ends early with an error of `use` or `on_damage`.
  using OnDamagedBatch = absl::FunctionRef<absl::Status(
      uint64_t sequence, const absl::Status& damage)>;
  absl::Status Read(const LogSegment& segment, absl::Time from, absl::Time to,
                    const QueryFilter& filter, const Snapshot* snapshot,
                    absl::FunctionRef<absl::Status(LoggedBatch batch)> use,
                    OnDamagedBatch on_damage);

  // Reads every batch, and calls `use` with OK or, by the batch's name, why it
  // cannot be read.
  absl::Status Verify(absl::FunctionRef<void(const absl::Status& status)> use);

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
