// Serves the agent's own counters as a source.

#ifndef FLEETPERF_AGENT_SOURCE_OWN_PROVIDER_H_
#define FLEETPERF_AGENT_SOURCE_OWN_PROVIDER_H_

#include <memory>

#include "agent/source/source.h"
#include "base/clock.h"
#include "base/own_counterset.h"

namespace fleetperf::agent {

// `counterset` and `clock` must outlive the source.
std::unique_ptr<Source> MakeOwnSource(const OwnCounterset* counterset,
                                      const Clock& clock = Clock::Real());

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_OWN_PROVIDER_H_
