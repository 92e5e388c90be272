#include "base/config/config_reload.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "base/log.h"

namespace fleetperf {

void LogReload(const std::string& path, absl::Span<const ConfigKey> keys,
               const ConfigSettings& read, ConfigSettings* in_force) {
  std::vector<std::string> applied;
  std::vector<std::string> pending;
  for (const ConfigKey& key : keys) {
    const std::string name(key.name);
    const auto found = read.find(name);
    const std::string text = found == read.end() ? "" : found->second.text;
    std::string& old = (*in_force)[name].text;
    if (text == old) continue;
    if (key.when_changed == WhenChanged::kRestart) {
      pending.push_back(name);
      continue;
    }
    applied.push_back(name);
    old = text;
  }
  LogInfo("reloaded ", path, "; changed: ",
          applied.empty() ? "nothing" : absl::StrJoin(applied, ", "));
  if (pending.empty()) return;
  LogWarning("restart to apply the changes of ", absl::StrJoin(pending, ", "),
             " in ", path);
}

}  // namespace fleetperf
