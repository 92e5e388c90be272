// The keys of the aggregator's configuration file.

#ifndef FLEETPERF_AGGREGATOR_CONFIG_KEYS_H_
#define FLEETPERF_AGGREGATOR_CONFIG_KEYS_H_

#include "absl/types/span.h"
#include "base/config/config_key.h"

namespace fleetperf::aggregator {

// Describes each key that LoadConfig reads, in the order of the reference page.
// The keys of a plan's queries are those of an agent's.
absl::Span<const ConfigKey> ConfigKeys();

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_CONFIG_KEYS_H_
