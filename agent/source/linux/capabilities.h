// The capabilities of a process on Linux.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_CAPABILITIES_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_CAPABILITIES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// MissingRights for a process whose /proc/PID/status is `status`.
std::string MissingRightsIn(absl::string_view status,
                            absl::string_view counterset);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_CAPABILITIES_H_
