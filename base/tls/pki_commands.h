// The commands of fleetperf pki that messages advise. Each one runs as it is
// printed, in any shell: names that a certificate cannot have are omitted, and
// "NAME" stands for a name that is unknown.

#ifndef FLEETPERF_BASE_TLS_PKI_COMMANDS_H_
#define FLEETPERF_BASE_TLS_PKI_COMMANDS_H_

#include <string>
#include <vector>

#include "base/tls/certificate_info.h"

namespace fleetperf {

// Returns "fleetperf pki issue agent web-1 db1".
std::string IssueCommand(Role role, const std::vector<std::string>& names);

// Returns the command that issues the certificate again: "fleetperf pki issue
// agent web-1 db1 --force". It replaces the files of the first one.
std::string ReissueCommand(const CertificateInfo& certificate);

// Returns "fleetperf pki token web-1 db1".
std::string TokenCommand(const std::vector<std::string>& names);

// The next step for an agent whose machine has a name that a certificate cannot
// have (CheckCertificateName), after the reason.
inline constexpr char kRenameAgent[] =
    "; give the machine another name with \"name\" in its agent's "
    "configuration, and issue a certificate for that name";

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TLS_PKI_COMMANDS_H_
