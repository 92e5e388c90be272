#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/os/user_directory.h"

namespace fleetperf {

const char kUserConfigDirectory[] = "~/.config/fleetperf";

std::string UserConfigDirectory() {
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0'
             ? ""
             : absl::StrCat(home, "/.config/fleetperf");
}

absl::Status CheckProtected(const std::string&) { return absl::OkStatus(); }

}  // namespace fleetperf
