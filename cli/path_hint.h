// Detects paths that the shell has changed.

#ifndef FLEETPERF_CLI_PATH_HINT_H_
#define FLEETPERF_CLI_PATH_HINT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::cli {

// Returns "; ..." to append to the error of a path that looks as if the shell
// had removed characters from it; otherwise empty. In double quotes, a shell
// replaces "\\" by "\" and "$name" by the variable; without quotes, it also
// removes single backslashes. For a text without any, the hint also has the
// command that finds paths by words.
std::string ShellHint(absl::string_view path);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PATH_HINT_H_
