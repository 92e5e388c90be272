// Finds data that a repaired store lacks, and records the losses.

#ifndef FLEETPERF_AGGREGATOR_STORE_BACKUP_LOST_DATA_H_
#define FLEETPERF_AGGREGATOR_STORE_BACKUP_LOST_DATA_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/store/tables/database.h"
#include "base/os/clock.h"

namespace fleetperf::aggregator {

// Compares the records of chunks and of the log with each other:
// - A chunk that the index of received data lists, but that is missing or lacks
//   pages, becomes a loss of its machine in its hours.
// - A batch of the log without its contents becomes a loss of its agent's
//   machines.
// - A batch that is also in a chunk is removed from the log: the record of its
//   removal was lost.
// - A batch that only its index lacks is indexed again.
// - A chunk that is in a file of `dropped`, which the database does not use any
//   more, and that no later change removed or replaced, becomes a loss, too.
// Adds a text for operators to `lost` for each loss. If `has_losses` or a loss
// is found, reserves the numbers that keys use, and has agents send their
// definitions again. Calls `progress` with the number of chunks checked so far.
absl::Status KeepLostData(Database* database, bool has_losses,
                          const std::vector<std::string>& dropped,
                          const Clock& clock,
                          const std::function<void(uint64_t chunks)>& progress,
                          std::vector<std::string>* lost);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BACKUP_LOST_DATA_H_
