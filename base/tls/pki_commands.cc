#include "base/tls/pki_commands.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/tls/certificates.h"

namespace fleetperf {
namespace {

// Returns the command with these names, each once.
std::string WithNames(std::string command,
                      const std::vector<std::string>& names) {
  std::vector<std::string> added;
  for (const std::string& name : names) {
    const bool is_new =
        std::none_of(added.begin(), added.end(), [&](const std::string& other) {
          return absl::EqualsIgnoreCase(name, other);
        });
    // A name like "--force" would be a flag.
    const bool is_flag = absl::StartsWith(name, "-");
    if (is_new && !is_flag && CheckCertificateName(name).ok()) {
      added.push_back(name);
    }
  }
  if (added.empty()) added.push_back("NAME");
  for (const std::string& name : added) absl::StrAppend(&command, " ", name);
  return command;
}

}  // namespace

std::string IssueCommand(Role role, const std::vector<std::string>& names) {
  return WithNames(absl::StrCat("fleetperf pki issue ", RoleName(role)), names);
}

std::string ReissueCommand(const CertificateInfo& certificate) {
  std::vector<std::string> names = certificate.names;
  names.insert(names.end(), certificate.addresses.begin(),
               certificate.addresses.end());
  // The first name is the subject, and that of the files.
  std::stable_partition(
      names.begin(), names.end(),
      [&](const std::string& name) { return name == certificate.subject; });
  const std::string command = absl::StrCat(
      "fleetperf pki issue ",
      certificate.role.has_value() ? RoleName(*certificate.role) : "ROLE");
  return absl::StrCat(WithNames(command, names), " --force");
}

std::string TokenCommand(const std::vector<std::string>& names) {
  return WithNames("fleetperf pki token", names);
}

}  // namespace fleetperf
