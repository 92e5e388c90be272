// The agent's configuration file.

#ifndef FLEETPERF_AGENT_CONFIG_H_
#define FLEETPERF_AGENT_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/collect/plan.h"
#include "base/credentials.h"
#include "base/logging.h"

namespace fleetperf::agent {

struct Config {
  // The machine's name in the store; its certificate must have it.
  std::string name;
  std::vector<std::string> aggregators;  // "host:port", tried in order
  TlsFiles tls;
  std::map<std::string, std::string> labels;
  Plan plan;
  absl::Duration batch_period = absl::Seconds(10);
  uint64_t spool_bytes = uint64_t{64} << 20;
  LogConfig log;
};

// docs/configuration.md lists the keys. An error names file and line.
absl::StatusOr<Config> LoadConfig(const std::string& path);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_CONFIG_H_
