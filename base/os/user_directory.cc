#include "base/os/user_directory.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "base/os/native_path.h"
#include "base/os/os_error.h"

namespace fleetperf {

absl::Status MakeProtectedDirectory(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole =
      std::filesystem::absolute(NativePath(path), error);
  if (error) {
    return StatusFromErrorCode(error, absl::StrCat("cannot make ", path));
  }
  std::vector<std::filesystem::path> missing;  // the innermost first
  for (auto part = whole;
       part.has_relative_path() && !FileExists(Utf8FromPath(part));
       part = part.parent_path()) {
    missing.push_back(part);
  }
  absl::Status status = MakeDirectories(path);
  if (status.ok()) status = CheckProtected(path);
  if (status.ok()) return status;
  std::error_code ignored;  // another process may use the directory already
  for (const auto& made : missing) std::filesystem::remove(made, ignored);
  return status;
}

}  // namespace fleetperf
