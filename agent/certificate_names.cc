#include "agent/certificate_names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/host_name.h"
#include "base/tls/certificates.h"
#include "base/tls/pki_commands.h"

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
  if (IsPlaceholder(machine) && machine == own_ && !names_.empty()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the host has no name yet (\"", machine,
        "\"); give it one, or set \"name\" in the agent's configuration to a "
        "name in the certificate: ",
        absl::StrJoin(names_, ", ")));
  }
  if (const absl::Status allowed = CheckCertificateName(machine);
      !allowed.ok()) {
    return absl::PermissionDeniedError(absl::StrCat(
        allowed.message(),
        absl::EqualsIgnoreCase(machine, own_)
            ? kRenameAgent
            : "; run an agent on that machine, with another \"name\""));
  }
  // The certificate keeps its names. The agent's own name comes first.
  std::vector<std::string> wanted = {own_};
  wanted.insert(wanted.end(), names_.begin(), names_.end());
  wanted.push_back(machine);
  return absl::PermissionDeniedError(absl::StrCat(
      "the agent's certificate does not name \"", machine,
      "\"; issue one with: ", IssueCommand(Role::kAgent, wanted), " --force"));
}

}  // namespace fleetperf::agent
