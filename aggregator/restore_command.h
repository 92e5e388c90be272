// The command `fleetperf-aggregator restore`.

#ifndef FLEETPERF_AGGREGATOR_RESTORE_COMMAND_H_
#define FLEETPERF_AGGREGATOR_RESTORE_COMMAND_H_

#include <string>

#include "absl/status/status.h"

namespace fleetperf::aggregator {

// Restores the configured store from the directory `backup`. Returns an error
// if the store exists and is not empty.
absl::Status RestoreCommand(const std::string& config_path,
                            const std::string& backup);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RESTORE_COMMAND_H_
