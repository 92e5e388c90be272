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
#include "base/config/config.h"
#include "base/logging.h"
#include "base/tls/credentials.h"

namespace fleetperf::agent {

// The order in which an agent tries the aggregators of its list.
enum class AggregatorsOrder {
  kHash,    // by the agent's name (deliver/rendezvous.h), so that agents spread
  kListed,  // as listed: the others are standbys of the first one
};

struct Config {
  // The machine's name in the store. The certificate must contain it.
  std::string name;
  // Whether the configuration or a flag sets the name, which is otherwise the
  // host's when the configuration was read.
  bool is_named = true;
  std::vector<std::string> aggregators;  // "host:port", as listed
  AggregatorsOrder aggregators_order = AggregatorsOrder::kHash;
  TlsFiles tls;
  std::map<std::string, std::string> labels;
  Plan plan;
  absl::Duration batch_period = absl::Seconds(10);
  // The directory for state that outlives the process: the spool.
  std::string state_directory;
  uint64_t spool_bytes = uint64_t{256} << 20;
  absl::Duration spool_age = absl::Hours(24);
  // The directory that captured blocks are written to, and its size limit. An
  // empty path disables capturing.
  std::string capture_directory;
  uint64_t capture_bytes = uint64_t{256} << 20;
  // The capture to play instead of collecting. Empty for none.
  std::string replay_directory;
  // The directory of the machine's root filesystem. Empty for "/".
  std::string root;
  // The DLL that exports PerfLib's functions. Empty for the Windows DLL.
  std::string perflib_dll;
  LogConfig log;
  ConfigSettings settings;  // the keys of the file
};

// Command-line values that override the configuration file. Empty values
// override nothing.
struct ConfigFlags {
  std::string name;
  std::string capture;
  std::string replay;
};

// docs/reference/configuration.md lists the keys. Error messages name the file
// and line.
absl::StatusOr<Config> LoadConfig(const std::string& path,
                                  const ConfigFlags& flags);
// Same, of a file with this text at `path`.
absl::StatusOr<Config> ParseConfig(const std::string& text,
                                   const std::string& path,
                                   const ConfigFlags& flags);

// Returns the aggregators in the order in which the agent `config.name` tries
// them.
std::vector<std::string> PreferredAggregators(const Config& config);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_CONFIG_H_
