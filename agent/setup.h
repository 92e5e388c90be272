// Making a machine ready to run the agent as a service.

#ifndef FLEETPERF_AGENT_SETUP_H_
#define FLEETPERF_AGENT_SETUP_H_

#include <vector>

#include "base/daemon.h"

namespace fleetperf::agent {

// The commands with which this platform's agent installs itself. None on Linux,
// where packages and systemd do it.
std::vector<DaemonCommand> SetupCommands();

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SETUP_H_
