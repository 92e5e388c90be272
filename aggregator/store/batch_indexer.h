// Makes batches of the log searchable: by machine, in the log's index and among
// the batches in memory, and their queries and newest samples in the directory.

#ifndef FLEETPERF_AGGREGATOR_STORE_BATCH_INDEXER_H_
#define FLEETPERF_AGGREGATOR_STORE_BATCH_INDEXER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "aggregator/samples/commit.h"
#include "aggregator/samples/directory.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/recent/recent_batches.h"
#include "aggregator/store/tables/definition_table.h"
#include "aggregator/store/tables/log_index.h"
#include "aggregator/store/tables/machine_table.h"
#include "base/os/clock.h"

namespace fleetperf::aggregator {

// Thread-safe, except for Add.
class BatchIndexer {
 public:
  struct Parts {
    DefinitionTable* definitions;
    MachineTable* machines;
    Directory* directory;
    LogIndex* log;
    RecentBatches* recent;
    const Clock* clock;
  };
  // The objects that `parts` points to must outlive the indexer.
  explicit BatchIndexer(const Parts& parts) : parts_(parts) {}

  // Adds a durable batch. Must be called by one thread at a time.
  void Add(const BatchToCommit& batch, const BatchTimes& times);

  // Makes losses of all of an agent's machines in an epoch's batches findable
  // for each of them, even if the epoch has no samples of it: these samples may
  // be the lost ones.
  void AddMachinesOf(const std::string& agent, uint32_t epoch_number);

  // Makes an epoch's batches findable by the machines of its stored queries.
  // Damaged definitions are logged. Returns an error if they cannot be read.
  absl::Status AddQueries(uint32_t epoch_number);

 private:
  // Drops queries that no dictionary holds any more. Runs rarely, since it
  // scans all known queries.
  void PruneQueries();

  const Parts parts_;
  // Used by Add only: queries already in the directory and the log's index, and
  // how many of them were in use at the last check.
  absl::flat_hash_map<std::shared_ptr<const CollectedQuery>,
                      std::shared_ptr<QueryTicks>>
      known_queries_;
  size_t queries_in_use_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BATCH_INDEXER_H_
