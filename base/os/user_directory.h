// The directory of a user's own configuration, and its protection.

#ifndef FLEETPERF_BASE_OS_USER_DIRECTORY_H_
#define FLEETPERF_BASE_OS_USER_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"

namespace fleetperf {

// Returns the directory of the user's configuration: ~/.config/fleetperf, on
// Windows the folder fleetperf in the profile's folder AppData\Roaming. Empty
// if the user has no home directory or profile.
std::string UserConfigDirectory();

// The same for help texts: "~/.config/fleetperf" or "%APPDATA%/fleetperf".
extern const char kUserConfigDirectory[];

// Returns PermissionDenied if an account other than the user, administrators
// and the system may change the file or directory, or replace it by way of a
// directory above, unless that is on a share. Windows only, where directories
// on a drive may be changed by all users unless they are protected; elsewhere
// always OK.
absl::Status CheckProtected(const std::string& path);

// Makes the directory and its parents, unless it exists, and checks it by
// CheckProtected. After an error, the directories that it made are removed.
absl::Status MakeProtectedDirectory(const std::string& path);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_USER_DIRECTORY_H_
