// The protocol of sd_notify(3), with which systemd is told a service's state.
// Windows has none of it.

#ifndef FLEETPERF_BASE_SD_NOTIFY_H_
#define FLEETPERF_BASE_SD_NOTIFY_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf {

// Sends `report`, such as "READY=1". Does nothing if systemd expects no reports
// (NOTIFY_SOCKET is not set). An error is logged.
void ReportToSystemd(absl::string_view report);

// Returns WatchdogSec= of the unit; nullopt if it has none.
std::optional<absl::Duration> SystemdWatchdogInterval();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SD_NOTIFY_H_
