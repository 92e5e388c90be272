// fleetperf-aggregator check.

#ifndef FLEETPERF_AGGREGATOR_CHECK_H_
#define FLEETPERF_AGGREGATOR_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "base/os/clock.h"

namespace fleetperf::aggregator {

// Looks for what would keep an aggregator with this configuration from starting
// or make it fail later: certificates, the address, directories, the store, the
// disk and the clock. Prints each finding, and each problem with its next step.
// Changes nothing. An aggregator that runs with the configuration is a problem,
// because it has the address and the store. Returns FailedPrecondition with the
// number of problems.
absl::Status CheckCommand(const std::string& config_path,
                          const Clock& clock = Clock::Real());

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_CHECK_H_
