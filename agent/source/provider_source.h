// A source that serves providers' samples as PerfLib blocks.

#ifndef FLEETPERF_AGENT_SOURCE_PROVIDER_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_PROVIDER_SOURCE_H_

#include <memory>
#include <vector>

#include "agent/source/provider.h"
#include "agent/source/source.h"
#include "base/clock.h"

namespace fleetperf::agent {

// `clock` must outlive the source.
std::unique_ptr<Source> MakeProviderSource(
    std::vector<std::unique_ptr<Provider>> providers, const Clock& clock);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_PROVIDER_SOURCE_H_
