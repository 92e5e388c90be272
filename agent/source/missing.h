// Explains why countersets and values are missing on this platform.

#ifndef FLEETPERF_AGENT_SOURCE_MISSING_H_
#define FLEETPERF_AGENT_SOURCE_MISSING_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf::agent {

// A counterset that users commonly look for.
struct WellKnownCounterset {
  absl::string_view name;
  absl::string_view why_missing;  // and possible alternatives
};

// Returns the countersets of this platform.
absl::Span<const WellKnownCounterset> WellKnownCountersets();

// Returns which values of the counterset are absent because the process lacks a
// right, and how to grant it. Returns "" if none are. `counterset` is a name or
// pattern, as in a plan.
std::string MissingRights(absl::string_view counterset);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_MISSING_H_
