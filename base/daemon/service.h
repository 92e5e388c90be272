// Integrates a daemon with the service manager.

#ifndef FLEETPERF_BASE_DAEMON_SERVICE_H_
#define FLEETPERF_BASE_DAEMON_SERVICE_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/daemon/daemon.h"

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

// The protocol of sd_notify(3), by which a service reports its state to
// systemd. On Windows, these functions do nothing.
//
// Sends `report`, such as "READY=1". Does nothing if systemd expects no reports
// (NOTIFY_SOCKET is not set). An error is logged.
void ReportToSystemd(absl::string_view report);

// Returns WatchdogSec= of the unit; nullopt if it has none.
std::optional<absl::Duration> SystemdWatchdogInterval();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_DAEMON_SERVICE_H_
