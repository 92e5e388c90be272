// The description of a configuration file's keys, for the reference page and
// for reloads. Types, limits and constant defaults are those of the code that
// reads the keys (ConfigFile::settings).

#ifndef FLEETPERF_BASE_CONFIG_CONFIG_KEY_H_
#define FLEETPERF_BASE_CONFIG_CONFIG_KEY_H_

#include "absl/strings/string_view.h"

namespace fleetperf {

enum class WhenChanged {
  kReload,   // a reload of the file applies the new value
  kRestart,  // the next start applies it
};

struct ConfigKey {
  absl::string_view name;     // as in ConfigSettings
  absl::string_view meaning;  // Markdown
  WhenChanged when_changed = WhenChanged::kRestart;
  // Markdown, for a default that is not a constant; "" for a constant.
  absl::string_view default_text = "";
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CONFIG_CONFIG_KEY_H_
