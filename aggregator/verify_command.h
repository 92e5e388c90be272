// The command `fleetperf-aggregator verify`.

#ifndef FLEETPERF_AGGREGATOR_VERIFY_COMMAND_H_
#define FLEETPERF_AGGREGATOR_VERIFY_COMMAND_H_

#include <string>

#include "absl/status/status.h"

namespace fleetperf::aggregator {

// Verifies the directory `backup`, or the configured store if `backup` is
// empty. Prints a summary of the contents and one line per damaged place.
// Returns DataLoss if any damage was found.
absl::Status VerifyCommand(const std::string& config_path,
                           const std::string& backup);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_VERIFY_COMMAND_H_
