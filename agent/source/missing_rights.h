// Rights that the agent's process lacks.

#ifndef FLEETPERF_AGENT_SOURCE_MISSING_RIGHTS_H_
#define FLEETPERF_AGENT_SOURCE_MISSING_RIGHTS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// Returns which values of the counterset are absent because the process lacks a
// right, and how to grant it. Returns "" if none are. `counterset` is a name or
// pattern, as in a plan.
std::string MissingRights(absl::string_view counterset);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_MISSING_RIGHTS_H_
