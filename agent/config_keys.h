// The keys of the agent's configuration file.

#ifndef FLEETPERF_AGENT_CONFIG_KEYS_H_
#define FLEETPERF_AGENT_CONFIG_KEYS_H_

#include "absl/types/span.h"
#include "base/config/config_key.h"

namespace fleetperf::agent {

// Describes each key that LoadConfig reads, in the order of the reference page.
absl::Span<const ConfigKey> ConfigKeys();

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_CONFIG_KEYS_H_
