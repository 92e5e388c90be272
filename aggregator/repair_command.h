// The command `fleetperf-aggregator repair`.

#ifndef FLEETPERF_AGGREGATOR_REPAIR_COMMAND_H_
#define FLEETPERF_AGGREGATOR_REPAIR_COMMAND_H_

#include <string>

#include "absl/status/status.h"

namespace fleetperf::aggregator {

// Repairs the configured store. Prints one line per change and per loss.
// Returns an error if the store cannot be opened afterwards.
absl::Status RepairCommand(const std::string& config_path);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_REPAIR_COMMAND_H_
