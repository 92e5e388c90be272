// Combines two sources into one: the machine's and the agent's own counters.

#ifndef FLEETPERF_AGENT_SOURCE_COMBINED_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_COMBINED_SOURCE_H_

#include <memory>

#include "agent/source/source.h"

namespace fleetperf::agent {

// Serves the countersets of both sources; `own` wins where both have one. A
// block of queries to both is the machine's block, with its clocks, and the
// results of `own` appended. If the machine's block has a wrong size, nothing
// is appended, and readers notice that results are missing.
std::unique_ptr<Source> CombineSources(std::unique_ptr<Source> machines,
                                       std::unique_ptr<Source> own);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_COMBINED_SOURCE_H_
