// The configuration file of the command line.

#ifndef FLEETPERF_CLI_CONFIG_H_
#define FLEETPERF_CLI_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/config/config.h"
#include "base/config/config_key.h"
#include "base/tls/credentials.h"

namespace fleetperf::cli {

struct Config {
  std::vector<std::string> aggregators;  // "host:port"; at least one
  TlsFiles tls;
  ConfigSettings settings;
};

// Errors name the file and the line.
absl::StatusOr<Config> LoadConfig(const std::string& path);

// Describes each key that LoadConfig reads, in the order of the reference page.
absl::Span<const ConfigKey> ConfigKeys();

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_CONFIG_H_
