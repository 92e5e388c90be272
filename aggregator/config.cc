#include "aggregator/config.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator/ingest/agent_limits.h"
#include "aggregator/query/resolver.h"
#include "aggregator/samples/labels.h"
#include "aggregator/samples/machine_name.h"
#include "base/address.h"
#include "base/config/config.h"
#include "base/os/input_file.h"
#include "base/os/memory_limit.h"
#include "base/os/os.h"
#include "base/os/systemd_credential.h"
#include "base/status_macros.h"
#include "base/text/printable.h"

namespace fleetperf::aggregator {
namespace {

// The part of the memory for the newest batches, if it is not configured.
constexpr uint64_t kRecentShare = 8;

void ReadRetention(ConfigSection& store, Retention* retention) {
  constexpr absl::Duration kMaxAge = absl::Hours(24 * 3650);
  store.Read("full_resolution", &retention->full_resolution, absl::Hours(1),
             kMaxAge);
  store.Read("minute_resolution", &retention->minute_resolution, absl::Hours(1),
             kMaxAge);
  store.Read("retention", &retention->all, absl::Hours(1), kMaxAge);
  if (retention->minute_resolution < retention->full_resolution) {
    store.Error(
        "minute_resolution",
        "is shorter than store.full_resolution: it is the age at which samples "
        "are thinned further");
  }
  store.ReadByteSize("max_size", &retention->max_size, uint64_t{64} << 20,
                     uint64_t{1} << 50);
}

void ReadConnections(ConfigSection root, ConnectionLimits* limits) {
  constexpr int64_t kMaxConnections = 1'000'000;
  ConfigSection connections = root.Section("connections");
  connections.Read("max", &limits->max, 1, kMaxConnections);
  connections.Read("max_per_address", &limits->max_per_address, 1,
                   kMaxConnections);
  connections.Read("max_unauthenticated", &limits->max_unauthenticated, 1,
                   kMaxConnections);
}

void ReadExpectedMachines(ConfigSection& root,
                          std::set<std::string>* machines) {
  std::vector<std::string> names;
  root.Read("expected_machines", &names);
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kMaxAgentNameBytes ||
        name.find_first_of("*?") != std::string::npos) {
      root.Error("expected_machines",
                 absl::StrCat("\"", name,
                              "\" is not the name of a machine; wildcards are "
                              "not allowed"));
    }
    machines->insert(CanonicalName(name));
  }
}

// Returns the patterns of the machines of an entry of "machine_labels".
std::vector<perflib::Pattern> ReadLabeledMachines(ConfigSection& entry) {
  std::vector<std::string> names;
  entry.Read("machines", &names);
  if (names.empty()) {
    entry.Error("machines", "is missing; write \"*\" for all machines");
  }
  std::vector<perflib::Pattern> machines;
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kMaxAgentNameBytes) {
      entry.Error("machines",
                  absl::StrCat("\"", name, "\" is not the name of a machine"));
    }
    machines.emplace_back(name);
  }
  return machines;
}

LabelRules ReadMachineLabels(ConfigSection& root) {
  std::vector<LabelRule> rules;
  std::set<std::string> names;  // each machine has at most these labels
  for (ConfigSection entry : root.Sections("machine_labels")) {
    LabelRule& rule = rules.emplace_back();
    rule.machines = ReadLabeledMachines(entry);
    entry.Read("labels", &rule.labels);
    if (rule.labels.empty()) entry.Error("labels", "is missing");
    const absl::Status status = CheckLabels("labels", rule.labels);
    if (!status.ok()) entry.Error("labels", status.message());
    for (const auto& [name, value] : rule.labels) names.insert(name);
  }
  if (names.size() > size_t{kMaxLabels}) {
    root.Error("machine_labels",
               absl::StrCat("the entries have ", names.size(),
                            " different labels, more than ", kMaxLabels));
  }
  return LabelRules(std::move(rules));
}

std::optional<ExportConfig> ReadExport(ConfigSection& root) {
  if (!root.Has("export")) return std::nullopt;
  ConfigSection section = root.Section("export");
  ExportConfig config{.target = ReadEngineTarget(
                          section, "https://engine.example/api/v1/write")};
  section.Read("paths", &config.paths);
  if (!config.paths.empty()) {
    const auto parsed =
        PathSet::Parse(config.paths, std::vector<std::string>());
    if (!parsed.ok()) section.Error("paths", parsed.status().message());
  }
  section.Read("labels", &config.labels);
  for (const std::string& label : config.labels) {
    if (label.empty()) section.Error("labels", "\"\" is not a label's name");
  }
  section.Read("raw", &config.raw);
  section.Read("interval", &config.interval, absl::Seconds(1),
               absl::Minutes(5));
  section.Read("shards", &config.shards, 1, 64);
  return config;
}

std::optional<EngineTarget> ReadHistory(
    ConfigSection& root, const std::optional<ExportConfig>& exporting) {
  if (!root.Has("history")) return std::nullopt;
  ConfigSection section = root.Section("history");
  EngineTarget target =
      ReadEngineTarget(section, "https://engine.example/api/v1/query");
  // An address that is copied from `export` would answer each query with an
  // error.
  if (!target.url.empty() &&
      !absl::EndsWith(DisplayUrl(target), "/api/v1/query")) {
    section.Error("url", "does not end in /api/v1/query");
  }
  if (!exporting.has_value() || !exporting->raw) {
    root.Error("history",
               "needs an engine that gets raw samples; set export.raw: true");
  }
  return target;
}

void ReadListen(ConfigSection& root, std::string* listen) {
  root.Require("listen", listen);
  if (listen->empty()) return;
  const absl::Status status =
      CheckAddress(*listen, /*least_port=*/0, "0.0.0.0:7443");
  if (!status.ok()) root.Error("listen", status.message());
}

// Notes an error unless the address of a page is empty or begins with https://.
void CheckPage(ConfigSection& section, absl::string_view key,
               const std::string& page) {
  if (page.empty()) return;
  if (!absl::StartsWith(page, "https://") || absl::EndsWith(page, "/")) {
    section.Error(key,
                  "must begin with https:// and not end with /: "
                  "\"https://fleetperf.example\"");
  }
}

std::vector<OtherAggregator> ReadOthers(ConfigSection& root) {
  std::vector<OtherAggregator> others;
  for (ConfigSection entry : root.Sections("others")) {
    OtherAggregator& other = others.emplace_back();
    entry.Require("aggregator", &other.address);
    const absl::Status status = CheckAddress(other.address);
    if (!status.ok()) entry.Error("aggregator", status.message());
    entry.Read("page", &other.page);
    CheckPage(entry, "page", other.page);
  }
  return others;
}

void ReadWeb(ConfigSection root, WebConfig* config) {
  ConfigSection web = root.Section("web");
  web.Read("listen", &config->listen);
  if (!config->listen.empty()) {
    const absl::Status status =
        CheckAddress(config->listen, /*least_port=*/0, "0.0.0.0:7445");
    if (!status.ok()) web.Error("listen", status.message());
  }
  web.ReadPath("address_file", &config->address_file);
  web.ReadPath("certificate", &config->certificate);
  web.ReadPath("key", &config->key);
  if (config->certificate.empty() != config->key.empty()) {
    web.Error(config->key.empty() ? "certificate" : "key",
              "needs its other half: set web.certificate and web.key");
  }
  if (!config->key.empty()) config->key = FindCredential(config->key);
  web.Read("public_url", &config->public_url);
  CheckPage(web, "public_url", config->public_url);
}

}  // namespace

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path));
  return ParseConfig(text, path);
}

absl::StatusOr<Config> ParseConfig(const std::string& text,
                                   const std::string& path) {
  ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::Parse(text, path));
  ConfigSection root = file.root();
  Config config;
  config.name = HostName();
  root.Read("name", &config.name);
  const absl::Status is_text = CheckText(config.name);
  if (!is_text.ok()) {
    root.Error("name", absl::StrCat("must be set, since the host name ",
                                    is_text.message()));
  }
  ReadListen(root, &config.listen);
  root.ReadPath("address_file", &config.address_file);
  ReadConnections(root, &config.connections);
  ConfigSection tls = root.Section("tls");
  config.tls = ReadTlsFiles(tls);
  tls.ReadPath("revoked", &config.revoked);
  ReadWeb(root, &config.web);
  ConfigSection store = root.Section("store");
  store.RequirePath("directory", &config.store_directory);
  ReadRetention(store, &config.retention);
  config.recent_memory = MemoryLimit() / kRecentShare;
  store.ReadByteSize("recent_memory", &config.recent_memory, 0,
                     uint64_t{1} << 50);
  constexpr int64_t kMaxValue = INT64_MAX;
  ConfigSection agents = root.Section("agents");
  agents.Read("reconnect_after", &config.ingest.reconnect_after,
              absl::Seconds(1), absl::Hours(24 * 365));
  agents.Read("max_samples_per_second", &config.ingest.max_samples_per_second,
              1, kMaxValue);
  agents.Read("max_new_series_per_hour", &config.ingest.max_new_series_per_hour,
              1, kMaxValue);
  agents.Read("catch_up_samples_per_second",
              &config.ingest.catch_up_samples_per_second, 1, kMaxValue);
  ReadExpectedMachines(root, &config.expected_machines);
  config.others = ReadOthers(root);
  ConfigSection subscriptions = root.Section("subscriptions");
  subscriptions.Read("max_live_machines",
                     &config.subscriptions.max_live_machines, 0, kMaxValue);
  subscriptions.Read("max_subscribers", &config.subscriptions.max_subscribers,
                     0, kMaxValue);
  config.machine_labels = ReadMachineLabels(root);
  config.plans = ReadPlans(root);
  config.exporting = ReadExport(root);
  config.history = ReadHistory(root, config.exporting);
  config.log = ReadLogConfig(root);
  RETURN_IF_ERROR(file.Finish());
  config.settings = file.settings();
  return config;
}

}  // namespace fleetperf::aggregator
