// What a service manager wants of a daemon.

#ifndef FLEETPERF_BASE_SERVICE_H_
#define FLEETPERF_BASE_SERVICE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "base/daemon.h"

namespace fleetperf {

// Whether this platform's service manager wants to be told of states: Windows'
// does, systemd starts daemons as a shell would.
bool HasServiceManager();

// Calls `run` and returns what it returned. Meanwhile the service manager,
// which must have started the process, is told of the states, its request to
// stop raises `stop`, and an error goes to the event log under `name`. Called
// once, on the main thread.
absl::Status RunAsService(const std::string& name, StopSignal& stop,
                          const std::function<absl::Status()>& run);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVICE_H_
