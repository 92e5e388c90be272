#include "agent/host_name.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/certificate_names.h"
#include "base/os/os.h"
#include "base/tls/tls_identity.h"

namespace fleetperf::agent {

bool IsPlaceholder(absl::string_view host_name) {
  return host_name.empty() || host_name == "(none)" ||
         absl::EqualsIgnoreCase(host_name, "localhost") ||
         absl::StartsWithIgnoreCase(host_name, "localhost.");
}

absl::Status CheckHostIsNamed(const Config& config) {
  if (config.is_named || !IsPlaceholder(config.name)) return absl::OkStatus();
  const auto identity = TlsIdentity::Load(config.tls, Role::kAgent);
  if (!identity.ok())
    return absl::OkStatus();  // the start fails with the error
  const std::vector<std::string> names = (*identity)->certificate().names;
  if (CertificateNames(config.name, names).Check(config.name).ok()) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat(
      "the host has no name yet (\"", config.name,
      "\"): waiting until it has one; to start now, set \"name\" in the "
      "agent's configuration to a name in the certificate: ",
      absl::StrJoin(names, ", ")));
}

bool HasBetterHostName(const Config& config) {
  const std::string name = HostName();
  if (config.is_named || name == config.name) return false;
  const auto identity = TlsIdentity::Load(config.tls, Role::kAgent);
  if (!identity.ok()) return false;
  const CertificateNames names(config.name, (*identity)->certificate().names);
  return names.Check(name).ok() && !names.Check(config.name).ok();
}

}  // namespace fleetperf::agent
