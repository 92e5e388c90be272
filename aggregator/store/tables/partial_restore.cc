#include "aggregator/store/tables/partial_restore.h"

#include "absl/strings/str_cat.h"
#include "base/os/files.h"

namespace fleetperf::aggregator {

std::string CopiedFilesIn(const std::string& directory) {
  return absl::StrCat(directory, "/.fleetperf-partial");
}

std::string RestoredFilesIn(const std::string& directory) {
  return absl::StrCat(directory, "/.fleetperf-restored");
}

bool IsMovingRestored(const std::string& directory) {
  return FileExists(RestoredFilesIn(directory)) &&
         !FileExists(absl::StrCat(directory, "/CURRENT"));
}

absl::Status CheckRestored(const std::string& directory) {
  if (!FileExists(CopiedFilesIn(directory)) && !IsMovingRestored(directory)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "a restore to ", directory,
      " was interrupted, so the backup's samples are not there; run "
      "fleetperf-aggregator restore BACKUP --config FILE again, or remove "
      "everything in ",
      directory, " to begin with an empty store"));
}

}  // namespace fleetperf::aggregator
