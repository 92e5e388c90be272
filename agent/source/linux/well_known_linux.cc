#include "agent/source/well_known.h"

namespace fleetperf::agent {

// Every Linux has all countersets of the Linux source.
absl::Span<const WellKnownCounterset> WellKnownCountersets() { return {}; }

}  // namespace fleetperf::agent
