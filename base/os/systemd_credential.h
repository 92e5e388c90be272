// Files that systemd passes to a service (LoadCredential=).

#ifndef FLEETPERF_BASE_OS_SYSTEMD_CREDENTIAL_H_
#define FLEETPERF_BASE_OS_SYSTEMD_CREDENTIAL_H_

#include <string>

namespace fleetperf {

// Returns the path of the credential that has the file name of `path`, or
// `path` if there is none. So a configuration file that names a key which only
// root can read works for the service, and for commands that root runs.
std::string FindCredential(const std::string& path);

// Returns whether `path` is in the directory of the credentials. systemd lets
// only the service's user read them, on some versions by access lists, which
// the mode shows as rights of the group.
bool IsCredential(const std::string& path);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_SYSTEMD_CREDENTIAL_H_
