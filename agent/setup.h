// Installs the agent as a service.

#ifndef FLEETPERF_AGENT_SETUP_H_
#define FLEETPERF_AGENT_SETUP_H_

#include <vector>

#include "base/daemon/daemon.h"

namespace fleetperf::agent {

// Returns the commands that install and remove the agent on this platform.
// Empty on Linux, where packages and systemd install the agent.
std::vector<DaemonCommand> SetupCommands();

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SETUP_H_
