#include "aggregator/store/backup/backup.h"

#include <rocksdb/metadata.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/copy_file.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/lost_commits.h"
#include "aggregator/store/tables/partial_restore.h"
#include "base/os/directory_lock.h"
#include "base/os/files.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

namespace fs = std::filesystem;

// The suffix of incomplete directories. It is reserved for this purpose.
constexpr char kPartial[] = ".fleetperf-partial";
// The file that identifies a RocksDB database.
constexpr char kCurrent[] = "CURRENT";

// Sums up the bytes copied from all files.
class CopyProgress {
 public:
  CopyProgress(uint64_t total, OnCopied on_copied)
      : total_(total), on_copied_(on_copied) {}

  absl::Status Add(uint64_t bytes) {
    return on_copied_(copied_ += bytes, total_);
  }

 private:
  const uint64_t total_;
  const OnCopied on_copied_;
  uint64_t copied_ = 0;
};

absl::Status RemoveAll(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return absl::OkStatus();
  return StatusFromErrorCode(error, absl::StrCat("cannot remove ", path));
}

absl::Status RemoveContents(const std::string& directory) {
  ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory));
  for (const DirectoryEntry& entry : entries) {
    RETURN_IF_ERROR(RemoveAll(absl::StrCat(directory, "/", entry.name)));
  }
  return absl::OkStatus();
}

absl::Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return absl::OkStatus();
  return StatusFromErrorCode(error, absl::StrCat("cannot make ", to));
}

// Creates a directory for incomplete data. Replaces a leftover one.
absl::Status MakePartial(const std::string& path) {
  RETURN_IF_ERROR(RemoveAll(path));
  std::error_code error;
  fs::create_directory(path, error);
  if (!error) return absl::OkStatus();
  return StatusFromErrorCode(error,
                             absl::StrCat("cannot make directory ", path));
}

absl::Status CheckTarget(const fs::path& directory) {
  if (!directory.is_absolute()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", directory.string(),
                     "\" is not an absolute path on the aggregator's machine"));
  }
  std::error_code ignored;
  if (fs::exists(directory, ignored)) {
    return absl::AlreadyExistsError(absl::StrCat(
        directory.string(), " exists; name a directory that does not exist"));
  }
  if (fs::is_directory(directory.parent_path(), ignored)) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(
      "there is no directory ", directory.parent_path().string(),
      " on the aggregator's machine; create it and give the aggregator write "
      "access"));
}

absl::Status CopyLiveFile(const rocksdb::LiveFileStorageInfo& file,
                          const std::string& to, CopyProgress* progress) {
  if (!file.replacement_contents.empty()) {
    RETURN_IF_ERROR(WriteFile(to, file.replacement_contents));
    return progress->Add(file.size);
  }
  const std::string from =
      absl::StrCat(file.directory, "/", file.relative_filename);
  if (!file.trim_to_size) {
    std::error_code error;
    fs::create_hard_link(from, to, error);
    if (!error) return progress->Add(file.size);
    // The target is on another file system, or the file system has no hard
    // links.
  }
  return CopyFile(from, to, file.size,
                  [&](uint64_t bytes) { return progress->Add(bytes); });
}

using LiveFiles = std::vector<rocksdb::LiveFileStorageInfo>;

absl::Status CopyLiveFiles(const LiveFiles& files, const std::string& to,
                           OnCopied on_copied) {
  uint64_t total = 0;
  for (const auto& file : files) total += file.size;
  CopyProgress progress(total, on_copied);
  for (const auto& file : files) {
    RETURN_IF_ERROR(CopyLiveFile(
        file, absl::StrCat(to, "/", file.relative_filename), &progress));
  }
  return absl::OkStatus();
}

struct File {
  std::string name;
  uint64_t size = 0;
};

absl::StatusOr<std::vector<File>> FilesIn(const std::string& directory) {
  std::vector<File> files;
  std::error_code error;
  for (auto entry = fs::directory_iterator(directory, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (!entry->is_regular_file(error) || error) continue;
    files.push_back({entry->path().filename(), entry->file_size(error)});
  }
  if (!error) return files;
  return StatusFromErrorCode(error, absl::StrCat("cannot read ", directory));
}

// Whether a restore moves files with this name before it is complete.
bool IsMovedEarly(absl::string_view name) {
  return absl::EndsWith(name, ".sst") || absl::EndsWith(name, ".log") ||
         absl::StartsWith(name, "MANIFEST-") ||
         absl::StartsWith(name, "OPTIONS-") || name == "IDENTITY" ||
         name == "LOCK" || absl::StartsWith(name, "fleetperf-");
}

// Returns FailedPrecondition if the directory has anything but leftovers of an
// earlier attempt, which are removed.
absl::Status MakeEmpty(const std::string& directory) {
  const bool has_moved = IsMovingRestored(directory);
  std::vector<std::string> moved;
  ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory));
  for (const DirectoryEntry& entry : entries) {
    const std::string path = absl::StrCat(directory, "/", entry.name);
    if (path == CopiedFilesIn(directory) ||
        path == RestoredFilesIn(directory)) {
      continue;
    }
    if (!has_moved || !IsMovedEarly(entry.name)) {
      return absl::FailedPreconditionError(
          absl::StrCat(directory,
                       " is not empty; stop the aggregator, move the contents "
                       "away, and try again"));
    }
    moved.push_back(path);
  }
  for (const std::string& path : moved) RETURN_IF_ERROR(RemoveFile(path));
  return absl::OkStatus();
}

// The restored store needs a new id, because it may lack data that was
// acknowledged under the old one.
absl::Status ForgetId(const std::string& directory) {
  ASSIGN_OR_RETURN(const auto database, Database::Open(directory));
  ASSIGN_OR_RETURN(const CommitMark mark, ReadCommitMark(*database));
  // Opening has repaired the log, so nothing would report the loss later.
  if (!LostCommits(*database, mark).empty()) {
    return absl::DataLossError("parts of its write-ahead log are missing");
  }
  Changes changes(database.get());
  changes.Delete(Family::kDefault, StoreIdKey());
  return database->Write(&changes, Database::Durability::kPowerCut);
}

absl::Status CannotRestore(const std::string& backup,
                           const std::string& directory,
                           const absl::Status& error) {
  std::string message = absl::StrCat("cannot restore a store from ", backup,
                                     ": ", error.message());
  if (absl::IsDataLoss(error)) {
    absl::StrAppend(&message,
                    "; the backup is damaged: restore another one, or copy its "
                    "files to ",
                    directory,
                    " and run fleetperf-aggregator repair --config FILE, which "
                    "saves what is sound");
  }
  return absl::Status(error.code(), message);
}

// Moves the restored files. The one that makes the directory a store comes
// last.
absl::Status MoveFiles(const std::string& to) {
  const std::string from = RestoredFilesIn(to);
  ASSIGN_OR_RETURN(std::vector<File> files, FilesIn(from));
  std::partition(files.begin(), files.end(),
                 [](const File& file) { return file.name != kCurrent; });
  for (const File& file : files) {
    if (file.name == kCurrent) RETURN_IF_ERROR(SyncDirectory(to));
    RETURN_IF_ERROR(Rename(absl::StrCat(from, "/", file.name),
                           absl::StrCat(to, "/", file.name)));
  }
  return SyncDirectory(to);
}

}  // namespace

absl::Status BackupDatabase(Database* database, const std::string& directory,
                            OnCopied on_copied) {
  fs::path target = fs::path(directory).lexically_normal();
  // Removes a trailing slash.
  if (!target.has_filename()) target = target.parent_path();
  RETURN_IF_ERROR(CheckTarget(target));
  const std::string partial = absl::StrCat(target.string(), kPartial);
  RETURN_IF_ERROR(MakePartial(partial));
  const absl::Cleanup remove = [&] { RemoveAll(partial).IgnoreError(); };
  RETURN_IF_ERROR(database->UseLiveFiles([&](const LiveFiles& files) {
    return CopyLiveFiles(files, partial, on_copied);
  }));
  RETURN_IF_ERROR(SyncDirectory(partial));
  RETURN_IF_ERROR(Rename(partial, target));
  const absl::Status synced = SyncDirectory(target.parent_path());
  if (!synced.ok()) RemoveAll(target).IgnoreError();  // not a backup
  return synced;
}

absl::Status RestoreStore(const std::string& backup,
                          const std::string& directory, OnCopied on_copied) {
  if (!FileExists(absl::StrCat(backup, "/", kCurrent))) {
    return absl::NotFoundError(
        absl::StrCat("there is no backup of a store in ", backup));
  }
  RETURN_IF_ERROR(MakeDirectories(directory));
  ASSIGN_OR_RETURN(const auto lock, DirectoryLock::Acquire(directory));
  RETURN_IF_ERROR(MakeEmpty(directory));
  const std::string copied = CopiedFilesIn(directory);
  const std::string restored = RestoredFilesIn(directory);
  // From here on, no aggregator starts in the directory.
  RETURN_IF_ERROR(MakeDirectories(copied));
  RETURN_IF_ERROR(SyncDirectory(directory));
  const absl::Cleanup remove = [&] { RemoveAll(copied).IgnoreError(); };
  RETURN_IF_ERROR(RemoveAll(restored));
  RETURN_IF_ERROR(RemoveContents(copied));
  ASSIGN_OR_RETURN(const std::vector<File> files, FilesIn(backup));
  uint64_t total = 0;
  for (const File& file : files) total += file.size;
  CopyProgress progress(total, on_copied);
  for (const File& file : files) {
    RETURN_IF_ERROR(
        CopyFile(absl::StrCat(backup, "/", file.name),
                 absl::StrCat(copied, "/", file.name), file.size,
                 [&](uint64_t bytes) { return progress.Add(bytes); }));
  }
  const absl::Status forgot = ForgetId(copied);
  if (!forgot.ok()) return CannotRestore(backup, directory, forgot);
  RETURN_IF_ERROR(SyncDirectory(copied));
  RETURN_IF_ERROR(Rename(copied, restored));
  RETURN_IF_ERROR(SyncDirectory(directory));
  RETURN_IF_ERROR(MoveFiles(directory));
  return RemoveAll(restored);
}

}  // namespace fleetperf::aggregator
