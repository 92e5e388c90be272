// The aggregator's configuration file.

#ifndef FLEETPERF_AGGREGATOR_CONFIG_H_
#define FLEETPERF_AGGREGATOR_CONFIG_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/engine/engine_target.h"
#include "aggregator/export/exporter.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/maintenance/maintenance.h"
#include "aggregator/plan/plan_entry.h"
#include "aggregator/samples/label_rules.h"
#include "aggregator/services/other_aggregator.h"
#include "aggregator/subscribe/hub.h"
#include "base/config/config.h"
#include "base/logging.h"
#include "base/server/connection_table.h"
#include "base/tls/credentials.h"

namespace fleetperf::aggregator {

// The page's server.
struct WebConfig {
  std::string listen;        // "host:port"; "" turns the page off
  std::string address_file;  // if set, receives the address once listening
  std::string certificate;   // PEM files; "" for those of the aggregator
  std::string key;
  std::string public_url;  // of login links; "" for the name in the certificate
};

struct Config {
  std::string name;          // the machine name for the aggregator's counters
  std::string listen;        // "host:port"; port 0 selects any free port
  std::string address_file;  // if set, receives the address once listening
  ConnectionLimits connections;
  TlsFiles tls;
  WebConfig web;
  std::string revoked;  // the list of revoked certificates; "" if there is none
  std::string store_directory;
  uint64_t recent_memory = 0;  // the budget of the newest batches in memory
  Retention retention;
  IngestLimits ingest;
  HubLimits subscriptions;
  std::set<std::string> expected_machines;  // canonical names
  std::vector<OtherAggregator> others;      // of the fleet
  LabelRules machine_labels;
  std::vector<PlanEntry> plans;
  std::optional<ExportConfig> exporting;
  std::optional<EngineTarget> history;  // with the older samples
  LogConfig log;
  ConfigSettings settings;  // the keys of the file
};

// Loads the configuration file at `path`. docs/reference/configuration.md lists
// the keys. Errors name the file and the line.
absl::StatusOr<Config> LoadConfig(const std::string& path);
// Same, of a file with this text at `path`.
absl::StatusOr<Config> ParseConfig(const std::string& text,
                                   const std::string& path);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_CONFIG_H_
