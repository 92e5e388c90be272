// The aggregator's configuration file.

#ifndef FLEETPERF_AGGREGATOR_CONFIG_H_
#define FLEETPERF_AGGREGATOR_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/maintenance/maintenance.h"
#include "aggregator/plan/plan_entry.h"
#include "aggregator/rpc/connection_table.h"
#include "aggregator/subscribe/hub.h"
#include "base/credentials.h"
#include "base/logging.h"

namespace fleetperf::aggregator {

struct Config {
  std::string name;          // of the machine that its own counters are of
  std::string listen;        // "host:port"; port 0: any that is free
  std::string address_file;  // if set, gets the address when it is listening
  ConnectionLimits connections;
  TlsFiles tls;
  std::string store_directory;
  Retention retention;
  IngestLimits ingest;
  HubLimits subscriptions;
  std::vector<PlanEntry> plans;
  LogConfig log;
};

// docs/reference/configuration.md lists the keys. An error names file and line.
absl::StatusOr<Config> LoadConfig(const std::string& path);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_CONFIG_H_
