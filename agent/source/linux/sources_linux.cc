#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "agent/source/linux/linux_source.h"
#include "agent/source/sources.h"
#include "base/os/os.h"

namespace fleetperf::agent {

absl::StatusOr<std::unique_ptr<Source>> OpenLocalSource(
    const std::string& perflib_dll, const std::string& root) {
  if (!perflib_dll.empty()) {
    return absl::InvalidArgumentError(
        "perflib_dll is supported only on Windows; remove it");
  }
  const std::string directory = root == "/" ? "" : root;
  // In place of a source without counters.
  if (access((directory + "/proc/stat").c_str(), R_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(
        "cannot read ", directory,
        "/proc/stat; \"root\" must be a directory where the machine's root "
        "filesystem is mounted, with its /proc"));
  }
  // Not all of the limit, because connections and other files also need
  // descriptors.
  const size_t limit = RaiseOpenFileLimit();
  return MakeLinuxSource({.root = directory,
                          .max_open_files = limit / 2,
                          .max_event_descriptors = limit / 4,
                          .max_cgroup_files = limit / 8});
}

absl::StatusOr<std::unique_ptr<Source>> OpenRemoteSource(
    const std::string&, const std::string& machine) {
  return absl::UnimplementedError(
      absl::StrCat("an agent on Linux cannot query ", machine,
                   ": only Windows has remote counters; run an agent on it"));
}

}  // namespace fleetperf::agent
