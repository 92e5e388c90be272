#include "tests/bench/peer_executable.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/os/files.h"

namespace fleetperf::bench {

absl::StatusOr<std::string> PeerExecutable(const std::string& package) {
  // The same directory as in deploy/install-deps.
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string directory =
      cache != nullptr ? cache : absl::StrCat(home ? home : "", "/.cache");
  const std::string path = absl::StrCat(directory, "/fleetperf/peers/", package,
                                        "/usr/bin/", package);
  if (FileExists(path)) return path;
  return absl::NotFoundError(
      absl::StrCat("there is no ", path, "; run: deploy/install-deps bench"));
}

}  // namespace fleetperf::bench
