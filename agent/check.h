// Diagnoses an agent's configuration: the `check` command.

#ifndef FLEETPERF_AGENT_CHECK_H_
#define FLEETPERF_AGENT_CHECK_H_

#include "absl/status/status.h"
#include "agent/config.h"

namespace fleetperf::agent {

// Prints the certificate, whether each aggregator can be reached and the state
// directory can be written, the countersets of each machine in the plan, the
// result of trying each query of the plan once, the values that the process
// lacks rights for, and the countersets that are missing or have no values. The
// error message gives the number of problems.
absl::Status Check(const Config& config);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_CHECK_H_
