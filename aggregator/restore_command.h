// `fleetperf-aggregator restore`.

#ifndef FLEETPERF_AGGREGATOR_RESTORE_COMMAND_H_
#define FLEETPERF_AGGREGATOR_RESTORE_COMMAND_H_

#include <string>

#include "absl/status/status.h"

namespace fleetperf::aggregator {

// Makes the configuration's store of a backup, if it is empty or absent.
absl::Status RestoreCommand(const std::string& config_path,
                            const std::string& backup);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RESTORE_COMMAND_H_
