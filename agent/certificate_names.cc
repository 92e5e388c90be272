#include "agent/certificate_names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace fleetperf::agent {
namespace {

// DNS names have no case.
bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const auto& other) {
    return absl::EqualsIgnoreCase(other, name);
  });
}

}  // namespace

absl::Status CertificateNames::Check(const std::string& machine) const {
  if (Contains(names_, machine)) return absl::OkStatus();
  // The certificate keeps its names. The agent's own name comes first.
  std::vector<std::string> wanted = {own_};
  const auto add = [&](const std::string& name) {
    if (!Contains(wanted, name)) wanted.push_back(name);
  };
  std::for_each(names_.begin(), names_.end(), add);
  add(machine);
  std::string command = "fleetperf pki issue agent";
  for (const std::string& name : wanted) absl::StrAppend(&command, " ", name);
  return absl::PermissionDeniedError(
      absl::StrCat("the agent's certificate does not name \"", machine,
                   "\"; issue one with: ", command));
}

}  // namespace fleetperf::agent
