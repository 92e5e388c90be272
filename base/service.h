// Integrates a daemon with the service manager.

#ifndef FLEETPERF_BASE_SERVICE_H_
#define FLEETPERF_BASE_SERVICE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "base/daemon.h"

namespace fleetperf {

// Returns whether this platform's service manager tracks states. Windows does;
// systemd starts daemons as a shell would.
bool HasServiceManager();

// Calls `run` and returns its result. Reports the states to the service
// manager, which must have started the process. Its stop request raises `stop`.
// An error is written to the event log under `name`. Must be called once, on
// the main thread.
absl::Status RunAsService(const std::string& name, StopSignal& stop,
                          const std::function<absl::Status()>& run);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVICE_H_
