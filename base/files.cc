#include "base/files.h"

#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/native_path.h"
#include "base/os_error.h"

namespace fleetperf {

bool FileExists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(NativePath(path), ignored);
}

absl::Status MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(NativePath(path), error);
  if (!error) return absl::OkStatus();
  return StatusFromErrorCode(error,
                             absl::StrCat("cannot make directory ", path));
}

std::string ResolvePath(absl::string_view directory, absl::string_view path) {
  return Utf8FromPath(NativePath(directory) / NativePath(path));
}

}  // namespace fleetperf
