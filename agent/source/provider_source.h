// A source that serves providers' samples as PerfLib blocks.

#ifndef FLEETPERF_AGENT_SOURCE_PROVIDER_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_PROVIDER_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/source/provider.h"
#include "agent/source/source.h"
#include "base/os/clock.h"

namespace fleetperf::agent {

struct ProviderCost {
  uint64_t collections = 0;
  uint64_t errors = 0;  // collections that failed
  uint64_t values = 0;
  uint64_t left_out = 0;  // instances beyond a limit, in the last collection
  absl::Duration time;
};

// By name of the counterset.
using ProviderCosts = std::map<std::string, ProviderCost>;

// Logs each note of a sample once, and serves the last ones as limitations.
// `clock` must outlive the source. The source adds to `costs`, if it is not
// null, while no provider is being sampled.
std::unique_ptr<Source> MakeProviderSource(
    std::vector<std::unique_ptr<Provider>> providers, const Clock& clock,
    std::shared_ptr<ProviderCosts> costs = nullptr);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_PROVIDER_SOURCE_H_
