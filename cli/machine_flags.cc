#include "cli/machine_flags.h"

#include "absl/strings/str_cat.h"

namespace fleetperf::cli {

absl::StatusOr<std::map<std::string, std::string>> ParseLabels(
    const std::vector<std::string>& labels) {
  std::map<std::string, std::string> parsed;
  for (const std::string& text : labels) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--label: \"", text, "\" is not NAME=VALUE, as in role=web"));
    }
    const std::string name = text.substr(0, equals);
    if (!parsed.emplace(name, text.substr(equals + 1)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--label: ", name,
                       " is given twice, but a machine has one value of it"));
    }
  }
  return parsed;
}

}  // namespace fleetperf::cli
