#include "aggregator/store/tables/damaged_files.h"

#include <cstdint>
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

namespace {

// Returns whether `kept` is a link to the file, or a copy of it.
bool IsKept(const std::string& path, const std::string& kept) {
  std::error_code error;
  if (fs::equivalent(path, kept, error)) return true;
  if (fs::file_size(path, error) != fs::file_size(kept, error)) return false;
  const auto contents = ReadFile(path);
  const auto copy = ReadFile(kept);
  return contents.ok() && copy.ok() && *contents == *copy;
}

// For file systems without hard links.
absl::Status Copy(const std::string& path, const std::string& to) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (error) return StatusFromErrorCode(error, path);
  const absl::Status copied =
      CopyFile(path, to, size, [](uint64_t) { return absl::OkStatus(); });
  if (!copied.ok()) fs::remove(to, error);
  return copied;
}

}  // namespace

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
    if (IsKept(path, to)) return absl::OkStatus();
    to = absl::StrCat(name, ".", number);
  }
  fs::create_hard_link(path, to, error);
  if (!error) return absl::OkStatus();
  const absl::Status copied = Copy(path, to);
  if (copied.ok()) return copied;
  return absl::Status(
      copied.code(),
      absl::StrCat("cannot keep ", path, " for a repair: ", copied.message(),
                   "; free disk space, or move the files in ",
                   DamagedFilesIn(directory), " away"));
}

void RemoveKeptFilesInUse(const std::string& directory) {
  const auto kept = ListDirectory(DamagedFilesIn(directory));
  if (!kept.ok()) return;
  for (const DirectoryEntry& entry : *kept) {
    const std::string kExtension = ".sst";
    const size_t end = entry.name.find(kExtension);
    if (end == std::string::npos) continue;
    const std::string path = absl::StrCat(
        directory, "/", entry.name.substr(0, end + kExtension.size()));
    const std::string link =
        absl::StrCat(DamagedFilesIn(directory), "/", entry.name);
    std::error_code error;
    if (fs::equivalent(path, link, error)) fs::remove(link, error);
  }
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
