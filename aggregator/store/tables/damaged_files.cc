#include "aggregator/store/tables/damaged_files.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/copy_file.h"
#include "aggregator/store/tables/manifest.h"
#include "base/files.h"
#include "base/os_error.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

namespace fs = std::filesystem;

std::string DamagedFilesIn(const std::string& directory) {
  return absl::StrCat(directory, "/damaged");
}

absl::Status KeepDamagedFile(const std::string& directory,
                             const std::string& path) {
  RETURN_IF_ERROR(MakeDirectories(DamagedFilesIn(directory)));
  const std::string name = absl::StrCat(DamagedFilesIn(directory), "/",
                                        fs::path(path).filename().string());
  std::string to = name;
  std::error_code error;
  for (int number = 1; FileExists(to); ++number) {
    // An earlier start was interrupted.
    if (fs::equivalent(path, to, error)) return absl::OkStatus();
    to = absl::StrCat(name, ".", number);
  }
  fs::create_hard_link(path, to, error);
  if (!error) return absl::OkStatus();
  fs::copy_file(path, to, error);
  if (!error) return absl::OkStatus();
  return StatusFromErrorCode(error, absl::StrCat("cannot make ", to));
}

absl::Status KeepUnlistedFiles(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string manifest, FindManifest(directory));
  ASSIGN_OR_RETURN(const ManifestEnd end, ReadManifestEnd(manifest));
  std::set<std::string> listed;
  for (const ListedFile& file : end.files) listed.insert(NameOf(file));
  ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory));
  for (const DirectoryEntry& entry : entries) {
    if (!absl::EndsWith(entry.name, ".sst") || listed.contains(entry.name)) {
      continue;
    }
    RETURN_IF_ERROR(
        KeepDamagedFile(directory, absl::StrCat(directory, "/", entry.name)));
  }
  RETURN_IF_ERROR(KeepDamagedFile(directory, manifest));
  return SyncDirectory(DamagedFilesIn(directory));
}

}  // namespace fleetperf::aggregator
