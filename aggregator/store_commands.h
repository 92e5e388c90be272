// The commands of fleetperf-aggregator that read or replace the store while no
// aggregator uses it.

#ifndef FLEETPERF_AGGREGATOR_STORE_COMMANDS_H_
#define FLEETPERF_AGGREGATOR_STORE_COMMANDS_H_

#include <string>

#include "absl/status/status.h"

namespace fleetperf::aggregator {

// Verifies the directory `backup`, or the configured store if `backup` is
// empty. Prints a summary of the contents and one line per damaged place.
// Returns DataLoss if any damage was found.
absl::Status VerifyCommand(const std::string& config_path,
                           const std::string& backup);

// Repairs the configured store. Prints one line per change and per loss.
// Returns an error if the store cannot be opened afterwards.
absl::Status RepairCommand(const std::string& config_path);

// Restores the configured store from the directory `backup`. Returns an error
// if the store exists and is not empty.
absl::Status RestoreCommand(const std::string& config_path,
                            const std::string& backup);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_COMMANDS_H_
