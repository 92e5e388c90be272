#include "cli/config.h"

#include "base/status_macros.h"

namespace fleetperf::cli {
namespace {

constexpr ConfigKey kKeys[] = {
    {.name = "aggregators",
     .meaning = "`host:port` of the aggregators, all of which a command asks; "
                "one or several",
     .default_text = "required"},
    {"tls.authority",
     "PEM file of the authorities that the aggregator's certificate must be "
     "from"},
    {"tls.certificate", "PEM file of the user's certificate"},
    {"tls.key",
     "PEM file of the certificate's key; the file's mode must not give others "
     "access ([security.md](security.md#certificates)); a credential of "
     "systemd "
     "(`LoadCredential=`) with the file's name is used instead"},
};

}  // namespace

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::Load(path));
  ConfigSection root = file.root();
  Config config;
  root.Read("aggregators", &config.aggregators);
  if (config.aggregators.empty()) {
    root.Error("aggregators", "aggregators is required");
  }
  config.tls = ReadTlsFiles(root.Section("tls"));
  RETURN_IF_ERROR(file.Finish());
  config.settings = file.settings();
  return config;
}

absl::Span<const ConfigKey> ConfigKeys() { return kKeys; }

}  // namespace fleetperf::cli
