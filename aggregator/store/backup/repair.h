// Makes a damaged store usable.

#ifndef FLEETPERF_AGGREGATOR_STORE_BACKUP_REPAIR_H_
#define FLEETPERF_AGGREGATOR_STORE_BACKUP_REPAIR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/os/clock.h"

namespace fleetperf::aggregator {

// The next step after a store could not be opened because it is damaged.
inline constexpr char kRepairHint[] =
    "fleetperf-aggregator repair --config FILE saves what is sound";

struct RepairReport {
  std::vector<std::string> done;  // what was changed, for operators
  std::vector<std::string> lost;  // what could not be saved, for operators
  std::string aside;  // the directory of replaced files; empty: none
};

// Repairs the store in `directory`, which no process may have open, so that it
// can be opened with everything that is sound. Replaced files are moved to a
// new directory `damaged-N` in the store. Losses of chunks and batches that the
// remaining records show are recorded, so that answers name their cause.
// `progress` is called with the number of chunks checked so far. A repair that
// was interrupted can be repeated. Returns FailedPrecondition if another
// process has the store open, NotFound if there is no store, and other errors
// if the store cannot be made usable.
absl::StatusOr<RepairReport> RepairStore(
    const std::string& directory, const Clock* clock,
    const std::function<void(uint64_t chunks)>& progress);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BACKUP_REPAIR_H_
