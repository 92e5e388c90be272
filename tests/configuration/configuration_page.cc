#include "tests/configuration/configuration_page.h"

#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/config.h"
#include "agent/config_keys.h"
#include "aggregator/config.h"
#include "aggregator/config_keys.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "cli/config.h"

namespace fleetperf::testing {
namespace {

constexpr char kIntroduction[] =
    R"(# Configuration files

Configuration files are YAML. A key that is not listed here, and a value of the wrong type or beyond its limits, is an
error that names the file, the line and the key. Relative paths are relative to the file. Durations are written `500ms`,
`10s`, `5m`, `1h30m`, `7d`; sizes `4096`, `64MiB`, `1GiB`. A list of one element may be written without brackets.

Files are UTF-8, or UTF-16 with a byte order mark. A key or a value that is not UTF-8, or that has a control character
(U+0000 to U+001F, U+007F to U+009F: also a tab or a line break), is such an error, too:

```
aggregator.yaml:31: plans[0].name: "K\xF6ln" is not UTF-8: it has the byte 0xF6; encode it in UTF-8
```

The arguments of all programs are checked in the same way; the error names the flag. Only the command that
`fleetperf-pmc stat` runs may have other bytes.

`tests/configuration_page` in the build directory prints this page from the programs' tables of keys and from the code
that reads them.

## Reloading

On Linux, SIGHUP makes fleetperf-agent and fleetperf-aggregator read their files again. If a file is wrong, the log has
the error, and the configuration stays as it is. Otherwise the log names the changed keys that take effect at once
("reload" in the tables below) and those that take effect at the next start ("restart"). After a reload of `aggregators`,
`labels` or `queries`, the agent connects again; it collects without interruption, and the spool keeps the samples. A new
retention is applied by the next removal, within ten minutes.
)";

constexpr char kAgentExample[] = R"(name: web-1
aggregators: [aggregator.example:7443]
tls:
  authority: /etc/fleetperf/authority.pem
  certificate: /etc/fleetperf/agent-web-1.pem
  key: /etc/fleetperf/agent-web-1.key
labels: {role: web, rack: r12}
queries:
  - counterset: Processor Information
    counters: ['% Processor Time', '% User Time']
  - counterset: Process V2
    counters: ['% Processor Time', 'Working Set']
    instances: ['nginx:*', 'postgres:*']
    interval: 10s
)";

constexpr char kAgentNotes[] = R"(
**The name.** Without `name`, the agent has the host's name. A host without a name of its own (`localhost`,
`localhost.localdomain`, `(none)`) may get one after the agent has started: unless the certificate names `localhost`, the
agent waits, reads the host's name every second, collects nothing, and its log says so. If the certificate does not name
the host, but names it after the host was renamed, the agent continues under the new name; samples of the earlier name
that were not stored are rejected. Once the certificate names the agent, a new name of the host takes effect at the next
start (`AgentOfHost.*`).

A query that matches no counter on a machine is a warning in the agent's log, with the nearest names; other queries run.
)";

constexpr char kAggregatorExample[] = R"(listen: 0.0.0.0:7443
tls:
  authority: /etc/fleetperf/authority.pem
  certificate: /etc/fleetperf/aggregator.pem
  key: /etc/fleetperf/aggregator.key
store:
  directory: /var/lib/fleetperf
  full_resolution: 7d
  minute_resolution: 60d
  retention: 400d
others:
  - {aggregator: 'agg-2.example:7443', page: 'https://agg-2.example:7445'}
machine_labels:
  - machines: [web-1, 'shop-*']
    labels: {role: web}
plans:
  - name: linux
    operating_system: Linux*
    queries:
      - counterset: System
export:
  url: http://127.0.0.1:8428/api/v1/write
  raw: true
history:
  url: http://127.0.0.1:8428/api/v1/query
)";

constexpr char kAggregatorNotes[] = R"(
**Memory.** Two budgets of the aggregator follow the memory that it may use: `store.recent_memory`, an eighth by
default, and gRPC's buffers, half, but at least 64 MiB. That memory is the machine's, or the lowest limit of the
process's control group and the group's parents, if it is lower: `memory.max` and `memory.high` of version 2
(`MemoryMax=` and `MemoryHigh=` of a unit, a container's limit), `memory.limit_in_bytes` of version 1. In a container,
limits of groups outside of it count if version 1 shows them inside (`hierarchical_memory_limit`). The limits are read
at the start (`MemoryLimitTest.*`, `MemoryLimit.IsThatOfARealGroup`). All other budgets are fixed
([security.md](security.md#untrusted-input)). Example: in a container of 8 GiB on a machine of 64 GiB, the newest batches
take at most 1 GiB, and gRPC's buffers 4 GiB.
)";

constexpr char kCommandLineNotes[] =
    R"(`fleetperf` reads the file that `--config` names, else the one that `FLEETPERF_CONFIG` names, else
`~/.config/fleetperf/config.yaml` (on Windows `%APPDATA%\fleetperf\config.yaml`, which is refused if other users can
change it). The flags `--aggregator`, `--authority`, `--certificate` and `--key` override it.
)";

constexpr char kCommandLineExample[] = R"(aggregators: aggregator.example:7443
tls:
  authority: authority.pem
  certificate: reader-alice.pem
  key: reader-alice.key
)";

// Documented once, as the keys of an agent's queries.
constexpr char kQueriesOfPlans[] = "plans[].queries[].";

std::string Code(absl::string_view text) {
  return absl::StrCat("`", text, "`");
}

std::string DefaultOf(const ConfigKey& key, const ConfigSetting& setting) {
  if (!key.default_text.empty()) return std::string(key.default_text);
  if (setting.is_required) return "required";
  return setting.default_value.empty() ? "none" : Code(setting.default_value);
}

std::string LimitsOf(const ConfigSetting& setting) {
  if (setting.least.empty() && setting.most.empty()) return "";
  if (setting.least.empty()) {
    return absl::StrCat("at most ", Code(setting.most));
  }
  if (setting.most.empty()) {
    return absl::StrCat("at least ", Code(setting.least));
  }
  return absl::StrCat(Code(setting.least), " to ", Code(setting.most));
}

std::string RowOf(const ConfigKey& key, const ConfigSetting& setting) {
  const absl::string_view when_changed =
      key.when_changed == WhenChanged::kReload ? "reload" : "restart";
  const std::vector<std::string> cells = {
      Code(key.name),    std::string(setting.type), DefaultOf(key, setting),
      LimitsOf(setting), std::string(when_changed), std::string(key.meaning)};
  return absl::StrCat("| ", absl::StrJoin(cells, " | "), " |\n");
}

// Returns the example and the rows.
template <typename Load>
absl::StatusOr<std::string> Section(const std::string& directory,
                                    absl::string_view example,
                                    absl::Span<const ConfigKey> keys,
                                    const Load& load) {
  const std::string path = ResolvePath(directory, "example.yaml");
  RETURN_IF_ERROR(WriteFile(path, example));
  ASSIGN_OR_RETURN(const auto config, load(path));
  ASSIGN_OR_RETURN(const std::string rows,
                   ConfigurationRows(keys, config.settings));
  return absl::StrCat("\n```yaml\n", example, "```\n\n", rows);
}

}  // namespace

absl::StatusOr<std::string> ConfigurationRows(absl::Span<const ConfigKey> keys,
                                              const ConfigSettings& settings) {
  std::string rows =
      "| key | type | default | limits | a change needs a | meaning |\n"
      "|---|---|---|---|---|---|\n";
  ConfigSettings rest = settings;
  std::erase_if(rest, [](const auto& setting) {
    return absl::StartsWith(setting.first, kQueriesOfPlans);
  });
  for (const ConfigKey& key : keys) {
    const auto setting = rest.find(std::string(key.name));
    if (setting == rest.end()) {
      return absl::NotFoundError(
          absl::StrCat("no code reads the key ", key.name));
    }
    rows += RowOf(key, setting->second);
    rest.erase(setting);
  }
  if (!rest.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no table describes the key ", rest.begin()->first));
  }
  return rows;
}

absl::StatusOr<std::string> ConfigurationPage(const std::string& directory) {
  const auto load_agent = [](const std::string& path) {
    return agent::LoadConfig(path, {});
  };
  ASSIGN_OR_RETURN(
      const std::string agent,
      Section(directory, kAgentExample, agent::ConfigKeys(), load_agent));
  ASSIGN_OR_RETURN(const std::string aggregator,
                   Section(directory, kAggregatorExample,
                           aggregator::ConfigKeys(), aggregator::LoadConfig));
  ASSIGN_OR_RETURN(const std::string command_line,
                   Section(directory, kCommandLineExample, cli::ConfigKeys(),
                           cli::LoadConfig));
  return absl::StrCat(kIntroduction, "\n## fleetperf-agent\n", agent,
                      kAgentNotes, "\n## fleetperf-aggregator\n", aggregator,
                      kAggregatorNotes, "\n## fleetperf\n\n", kCommandLineNotes,
                      command_line);
}

}  // namespace fleetperf::testing
