// The capabilities of a process on Linux.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_CAPABILITIES_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_CAPABILITIES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "driver/perf_event/system.h"

namespace fleetperf::agent {

// MissingRights for a process whose /proc/PID/status is `status`.
// `sees_others`: whether /proc shows it the processes of other users, which the
// mount option hidepid prevents.
std::string MissingRightsIn(absl::string_view status, bool sees_others,
                            absl::string_view counterset);

// MissingRights of the counters whose events the process may not open.
std::string MissingEventRights(perf_event::System& system,
                               absl::string_view counterset);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_CAPABILITIES_H_
