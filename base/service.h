// What a service manager wants of a daemon.

#ifndef FLEETPERF_BASE_SERVICE_H_
#define FLEETPERF_BASE_SERVICE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "base/daemon.h"

namespace fleetperf {

// Calls `run` and returns what it returned. If Windows' service control manager
// started the process, it is told of the states, its request to stop raises
// `stop`, and an error goes to the event log under `name`. Called once, on the
// main thread.
absl::Status RunAsService(const std::string& name, StopSignal& stop,
                          const std::function<absl::Status()>& run);

// Whether a service manager that shows no standard error started the process.
bool IsRunAsService();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVICE_H_
