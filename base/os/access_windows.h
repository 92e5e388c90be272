// Accounts and their rights to files.

#ifndef FLEETPERF_BASE_OS_ACCESS_WINDOWS_H_
#define FLEETPERF_BASE_OS_ACCESS_WINDOWS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace fleetperf {

// Security identifiers (PSID) are passed as void*.

// Returns whether the account is the process's user, the group of
// administrators, the system, or Windows' own installer, which owns Windows'
// folders.
bool IsTrustedAccount(void* sid);

// Returns the first account (PSID, inside `list`) that is not trusted and to
// which the access list (PACL) grants one of `rights`, be it under a condition.
// Null if there is none. Entries that only inherited objects get do not count,
// nor do those of the owner, who needs none.
void* UntrustedAccountWith(uint32_t rights, void* list);

// Returns whether the access list (PACL) grants the right to run a file to the
// account of a service or to a group that every service is a member of.
// Conditional entries do not count.
bool GrantsRun(void* list, void* account);

// Returns PermissionDenied if the access list of the executable at `path`
// grants the right to run it neither to the service's account nor to a group
// that every service is a member of. Membership in other groups is not
// considered.
absl::Status CheckServiceCanRun(const std::string& path, void* account);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_ACCESS_WINDOWS_H_
