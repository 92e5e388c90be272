#include "agent/config.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/config.h"
#include "base/os.h"
#include "base/status_macros.h"

namespace fleetperf::agent {

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::Load(path));
  ConfigSection root = file.root();
  Config config;
  config.name = HostName();
  root.Read("name", &config.name);
  root.Read("aggregators", &config.aggregators);
  if (config.aggregators.empty()) root.Error("aggregators", "is missing");
  for (const std::string& address : config.aggregators) {
    if (!absl::StrContains(address, ':')) {
      root.Error("aggregators", absl::StrCat("\"", address,
                                             "\" has no port; write it as in "
                                             "aggregator.example:7443"));
    }
  }
  config.tls = ReadTlsFiles(root);
  root.Read("labels", &config.labels);
  config.plan = ReadPlan(root);
  ConfigSection delivery = root.Section("delivery");
  delivery.Read("batch_period", &config.batch_period, absl::ZeroDuration(),
                absl::Minutes(5));
  delivery.ReadByteSize("spool_size", &config.spool_bytes, 1 << 20,
                        uint64_t{64} << 30);
  config.log = ReadLogConfig(root);
  RETURN_IF_ERROR(file.Finish());
  return config;
}

}  // namespace fleetperf::agent
