#include "agent/source/well_known.h"

namespace fleetperf::agent {

// What Linux serves is there on every Linux.
absl::Span<const WellKnownCounterset> WellKnownCountersets() { return {}; }

}  // namespace fleetperf::agent
