// What stands between this machine and its counters.

#ifndef FLEETPERF_AGENT_CHECK_H_
#define FLEETPERF_AGENT_CHECK_H_

#include "absl/status/status.h"
#include "agent/config.h"

namespace fleetperf::agent {

// Prints what the agent would find: its certificate, the countersets of each
// machine of its plan, what becomes of each query of the plan when it is tried
// once, and well-known countersets that are not there. An error says how many
// problems there are.
absl::Status Check(const Config& config);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_CHECK_H_
