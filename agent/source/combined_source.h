// Two sources as one: the machine's, and what the agent counts of itself.

#ifndef FLEETPERF_AGENT_SOURCE_COMBINED_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_COMBINED_SOURCE_H_

#include <memory>

#include "agent/source/source.h"

namespace fleetperf::agent {

// The countersets of both; where both have one, that of `own`. A block of
// queries to both is the machine's, with its clocks, and the results of the
// agent's own are appended to it. Nothing is appended to a block that does not
// end where it says: the reader rejects the missing part.
std::unique_ptr<Source> CombineSources(std::unique_ptr<Source> machines,
                                       std::unique_ptr<Source> own);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_COMBINED_SOURCE_H_
