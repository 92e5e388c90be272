// The source of the agent's own counters, and its combination with the
// machine's.

#ifndef FLEETPERF_AGENT_SOURCE_COMBINED_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_COMBINED_SOURCE_H_

#include <memory>

#include "agent/source/source.h"
#include "base/os/clock.h"

namespace fleetperf {
class OwnCounterset;
}  // namespace fleetperf

namespace fleetperf::agent {

// Serves the countersets of both sources; `own` wins where both have one. A
// block of queries to both is the machine's block, with its clocks, and the
// results of `own` appended. If the machine's block has a wrong size, nothing
// is appended, and readers notice that results are missing.
std::unique_ptr<Source> CombineSources(std::unique_ptr<Source> machines,
                                       std::unique_ptr<Source> own);

// Returns a source that serves the agent's own counters. `counterset` and
// `clock` must outlive the source.
std::unique_ptr<Source> MakeOwnSource(const OwnCounterset* counterset,
                                      const Clock& clock = Clock::Real());

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_COMBINED_SOURCE_H_
