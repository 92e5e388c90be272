// Finds what keeps a store from being opened, without reading its data.

#ifndef FLEETPERF_AGGREGATOR_STORE_BACKUP_INSPECT_H_
#define FLEETPERF_AGGREGATOR_STORE_BACKUP_INSPECT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace fleetperf::aggregator {

struct StoreState {
  uint64_t size = 0;  // bytes on disk
  // The last time that an aggregator recorded in the store.
  std::optional<absl::Time> known_time;
};

// Opens the store in `directory` read-only and closes it. Changes nothing.
// Errors: NotFound if there is no store, DataLoss if it is damaged or lacks
// data that it had, FailedPrecondition if it cannot be opened for another
// reason, for example because an aggregator has it open.
absl::StatusOr<StoreState> InspectStore(const std::string& directory);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BACKUP_INSPECT_H_
