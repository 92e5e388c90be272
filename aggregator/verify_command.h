// `fleetperf-aggregator verify`.

#ifndef FLEETPERF_AGGREGATOR_VERIFY_COMMAND_H_
#define FLEETPERF_AGGREGATOR_VERIFY_COMMAND_H_

#include <string>

#include "absl/status/status.h"

namespace fleetperf::aggregator {

// Prints what is in the backup, or if that is empty in the configuration's
// store, and what of it is damaged: then it is a DataLoss error.
absl::Status VerifyCommand(const std::string& config_path,
                           const std::string& backup);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_VERIFY_COMMAND_H_
