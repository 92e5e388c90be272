#include "base/sd_notify.h"

namespace fleetperf {

void ReportToSystemd(absl::string_view) {}

std::optional<absl::Duration> SystemdWatchdogInterval() { return std::nullopt; }

}  // namespace fleetperf
