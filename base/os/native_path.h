// Conversions to standard library paths. fleetperf's strings are UTF-8 on every
// platform, but Windows would interpret a plain string in its code page.

#ifndef FLEETPERF_BASE_OS_NATIVE_PATH_H_
#define FLEETPERF_BASE_OS_NATIVE_PATH_H_

#include <filesystem>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf {

inline std::filesystem::path NativePath(absl::string_view utf8) {
  return std::u8string(utf8.begin(), utf8.end());
}

// Returns the path with slashes, which Windows accepts, too.
inline std::string Utf8FromPath(const std::filesystem::path& path) {
  const std::u8string utf8 = path.generic_u8string();
  return std::string(utf8.begin(), utf8.end());
}

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_NATIVE_PATH_H_
