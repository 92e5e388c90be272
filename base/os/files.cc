#include "base/os/files.h"

#include "base/os/native_path.h"

namespace fleetperf {

std::string ResolvePath(absl::string_view directory, absl::string_view path) {
  return Utf8FromPath(NativePath(directory) / NativePath(path));
}

}  // namespace fleetperf
