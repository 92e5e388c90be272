// Paths of the standard library. Ours are UTF-8 on every platform; a plain
// string would be taken for the code page that Windows happens to have.

#ifndef FLEETPERF_BASE_NATIVE_PATH_H_
#define FLEETPERF_BASE_NATIVE_PATH_H_

#include <filesystem>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf {

inline std::filesystem::path NativePath(absl::string_view utf8) {
  return std::u8string(utf8.begin(), utf8.end());
}

// With slashes, which Windows takes, too.
inline std::string Utf8FromPath(const std::filesystem::path& path) {
  const std::u8string utf8 = path.generic_u8string();
  return std::string(utf8.begin(), utf8.end());
}

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_NATIVE_PATH_H_
