#include "agent/setup.h"

namespace fleetperf::agent {

std::vector<DaemonCommand> SetupCommands() { return {}; }

}  // namespace fleetperf::agent
