// Logs what a reload of a configuration file changes.

#ifndef FLEETPERF_BASE_CONFIG_CONFIG_RELOAD_H_
#define FLEETPERF_BASE_CONFIG_CONFIG_RELOAD_H_

#include <string>

#include "absl/types/span.h"
#include "base/config/config.h"
#include "base/config/config_key.h"

namespace fleetperf {

// Compares the settings `read` from the file at `path` with those in force.
// Logs the changed keys that the reload applies, and copies them to `in_force`.
// Logs the changed keys that take effect at the next start; they stay as they
// are in `in_force`, so that each later reload names them again.
void LogReload(const std::string& path, absl::Span<const ConfigKey> keys,
               const ConfigSettings& read, ConfigSettings* in_force);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CONFIG_CONFIG_RELOAD_H_
