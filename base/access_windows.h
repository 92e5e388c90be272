// Accounts and their rights to files.

#ifndef FLEETPERF_BASE_ACCESS_WINDOWS_H_
#define FLEETPERF_BASE_ACCESS_WINDOWS_H_

#include <string>

#include "absl/status/status.h"

namespace fleetperf {

// Security identifiers (PSID) are passed as void*.

// Returns whether the account is the process's user, the group of
// administrators, or the system.
bool IsTrustedAccount(void* sid);

// Returns PermissionDenied if the access list of the executable at `path`
// grants the right to run it neither to the service's account nor to a group
// that every service is a member of. Membership in other groups is not
// considered.
absl::Status CheckServiceCanRun(const std::string& path, void* account);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_ACCESS_WINDOWS_H_
