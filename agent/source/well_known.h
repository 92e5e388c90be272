// Countersets that users commonly look for.

#ifndef FLEETPERF_AGENT_SOURCE_WELL_KNOWN_H_
#define FLEETPERF_AGENT_SOURCE_WELL_KNOWN_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf::agent {

struct WellKnownCounterset {
  absl::string_view name;
  absl::string_view why_missing;  // and possible alternatives
};

// Returns the countersets of this platform.
absl::Span<const WellKnownCounterset> WellKnownCountersets();

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WELL_KNOWN_H_
