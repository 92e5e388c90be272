#include "aggregator/store/tables/open_database.h"

#include <rocksdb/listener.h>
#include <rocksdb/options.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/commit_mark.h"
#include "aggregator/store/tables/copy_file.h"
#include "aggregator/store/tables/manifest.h"
#include "aggregator/store/tables/partial_restore.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "aggregator/store/tables/rocksdb_options.h"
#include "aggregator/store/tables/sst_index.h"
#include "base/log.h"
#include "base/logging.h"
#include "base/os/files.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// RocksDB reads only logs that have been repaired. Its default mode would skip
// unreadable data together with everything after it, without an error.
constexpr auto kRecoveryMode =
    rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;

constexpr uint64_t kMaxWalBytes = uint64_t{256} << 20;

// Logs the errors of RocksDB's background work, for which no caller waits.
class BackgroundErrors : public rocksdb::EventListener {
 public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason reason,
                         rocksdb::Status* error) override {
    const bool is_damage =
        reason == rocksdb::BackgroundErrorReason::kCompaction &&
        error->IsCorruption();
    if (!is_damage) {
      log_.Warn("background",
                absl::StrCat("the store cannot write: ", error->ToString()));
      return;
    }
    log_.Warn("compaction",
              absl::StrCat("cannot compact a damaged part of the store; stop "
                           "the aggregator and run fleetperf-aggregator "
                           "verify: ",
                           error->ToString()));
    // The error would stop all writes. The damaged data is unchanged, and new
    // data does not depend on it.
    *error = rocksdb::Status::OK();
  }

  // RocksDB checks every few seconds whether the disk has space again.
  void OnErrorRecoveryEnd(
      const rocksdb::BackgroundErrorRecoveryInfo& info) override {
    if (info.new_bg_error.ok()) LogInfo("the store can write again");
  }

 private:
  LogOncePerCause log_;
};

// Returns DataLoss if `directory` has data but no file CURRENT. RocksDB would
// take it for a new directory and delete the data.
absl::Status CheckCurrent(const std::string& directory) {
  if (FileExists(directory + "/CURRENT") || !HasData(directory)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("the store in ", directory,
                   " has data, but the file CURRENT is missing"));
}

// Reads the write-ahead log and the MANIFEST before RocksDB does. If records at
// the end of the MANIFEST may be lost, logs this, and returns the paths of the
// MANIFEST and of files that it does not list, which RocksDB deletes when it
// opens the database. Sets `missing` if changes before those of the log are in
// no listed file.
absl::StatusOr<std::vector<std::string>> Check(const std::string& directory,
                                               OpenedDatabase* opened) {
  ASSIGN_OR_RETURN(opened->wal,
                   CheckWal(directory, SyncedMark::Read(directory)));
  std::vector<std::string> to_keep;
  const auto listing = ListFiles(directory);
  if (absl::IsDataLoss(listing.status())) return to_keep;  // opening reports it
  RETURN_IF_ERROR(listing.status());
  const std::string& manifest = listing->manifest;
  const std::string aside = absl::StrCat(
      "; when the store is opened, it and the files that it does not list are "
      "kept in ",
      DamagedFilesIn(directory));
  if (listing->damage.has_value()) {
    LogWarning(manifest, " cannot be read from byte ", *listing->damage,
               " on: a power cut interrupted a write to it, or it is damaged "
               "and acknowledged batches may be missing",
               aside);
  }
  const uint64_t next = listing->last_change + 1;
  if (opened->wal.first_change.value_or(next) > next) {
    opened->missing = absl::DataLossError(absl::StrCat(
        "the changes ", next, " to ", *opened->wal.first_change - 1,
        " of the store are neither in the files that ", manifest,
        " lists nor in the write-ahead log, so acknowledged batches may be "
        "lost",
        aside));
  }
  if (opened->missing.ok() && !listing->damage.has_value()) return to_keep;
  std::set<std::string> listed;
  for (const auto& file : listing->files) {
    listed.insert(file.relative_filename);
  }
  ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory));
  for (const DirectoryEntry& entry : entries) {
    if (absl::EndsWith(entry.name, ".sst") && !listed.contains(entry.name)) {
      to_keep.push_back(absl::StrCat(directory, "/", entry.name));
    }
  }
  to_keep.push_back(manifest);
  return to_keep;
}

// Rebuilds indexes of files, and logs each. Returns false if none is rebuilt.
absl::StatusOr<bool> RebuildIndexes(const std::string& directory) {
  const std::string kept = DamagedFilesIn(directory);
  ASSIGN_OR_RETURN(const auto rebuilt, RebuildSstIndexes(directory, kept));
  for (const std::string& path : rebuilt) {
    LogError(path,
             " has a damaged index: rebuilt it from the file's data, nothing "
             "is lost; the damaged file is kept in ",
             kept);
  }
  return !rebuilt.empty();
}

absl::StatusOr<std::string> MakeTemporaryDirectory() {
  std::error_code error;
  std::string path =
      (std::filesystem::temp_directory_path(error) / "fleetperf-XXXXXX")
          .string();
  if (!error && mkdtemp(path.data()) != nullptr) return path;
  return StatusFromErrno(errno, absl::StrCat("cannot make ", path));
}

// Returns whether a log that was closed properly is missing or shorter now.
bool LacksWal(const rocksdb::Status& status) {
  return status.IsCorruption() &&
         (absl::StrContains(status.ToString(), "Missing WAL") ||
          absl::StrContains(status.ToString(), "Size mismatch: WAL"));
}

rocksdb::DBOptions OptionsForWriting() {
  rocksdb::DBOptions options = CommonOptions();
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.max_total_wal_size = kMaxWalBytes;
  options.listeners.push_back(std::make_shared<BackgroundErrors>());
  // The logs hold all but the marker of Database::MakeLogReplaceable.
  options.avoid_flush_during_shutdown = true;
  options.wal_recovery_mode = kRecoveryMode;
  return options;
}

// Opens the database after its log was repaired. Rebuilds damaged indexes of
// files, and continues without a log that is missing.
absl::Status OpenForWriting(const std::string& directory,
                            OpenedDatabase* opened) {
  rocksdb::DBOptions options = OptionsForWriting();
  rocksdb::DB* database = nullptr;
  const auto open = [&] {
    return rocksdb::DB::Open(options, directory, FamilyOptions(),
                             &opened->families, &database);
  };
  rocksdb::Status status = open();
  if (status.IsCorruption() && !LacksWal(status)) {
    ASSIGN_OR_RETURN(const bool is_changed, RebuildIndexes(directory));
    if (is_changed) status = open();
  }
  if (LacksWal(status)) {
    opened->missing = absl::DataLossError(
        absl::StrCat("a write-ahead log file is missing or too short, so "
                     "acknowledged batches are lost: ",
                     status.ToString(), opened->missing.ok() ? "" : "; ",
                     opened->missing.message()));
    // Opening without the option discards the manifest's list of logs until the
    // next start.
    options.track_and_verify_wals_in_manifest = false;
    status = open();
  }
  if (!status.ok()) return CannotOpen(directory, status);
  opened->database.reset(database);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpenedDatabase> OpenDatabase(const std::string& directory) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  // The lock makes a file, which a restore would take for a store's.
  RETURN_IF_ERROR(CheckRestored(directory));
  OpenedDatabase opened;
  ASSIGN_OR_RETURN(opened.lock, StoreLock::Acquire(directory));
  RETURN_IF_ERROR(CheckRestored(directory));
  RETURN_IF_ERROR(CheckCurrent(directory));
  ASSIGN_OR_RETURN(const auto to_keep, Check(directory, &opened));
  for (const std::string& path : to_keep) {
    RETURN_IF_ERROR(KeepFile(path, DamagedFilesIn(directory)));
  }
  RETURN_IF_ERROR(RepairWal(directory, opened.wal));
  opened.lock->ReleaseFile();
  RETURN_IF_ERROR(OpenForWriting(directory, &opened));
  return opened;
}

absl::StatusOr<OpenedDatabase> OpenDatabaseForReading(
    const std::string& directory) {
  RETURN_IF_ERROR(CheckRestored(directory));
  RETURN_IF_ERROR(CheckCurrent(directory));
  if (!FileExists(directory + "/CURRENT")) {
    return absl::NotFoundError(
        absl::StrCat("there is no store in ", directory));
  }
  OpenedDatabase opened;
  // Without the lock, files could be deleted while they are read.
  ASSIGN_OR_RETURN(opened.lock, StoreLock::AcquireForReading(directory));
  RETURN_IF_ERROR(Check(directory, &opened).status());
  rocksdb::DBOptions options = CommonOptions();
  options.wal_recovery_mode = kRecoveryMode;
  std::string repaired;
  const absl::Cleanup remove = [&] {
    std::error_code ignored;
    if (!repaired.empty()) std::filesystem::remove_all(repaired, ignored);
  };
  if (!opened.wal.to_repair.empty()) {
    ASSIGN_OR_RETURN(repaired, MakeTemporaryDirectory());
    RETURN_IF_ERROR(CopyRepairedWal(opened.wal, repaired));
    options.wal_dir = repaired;
  }
  rocksdb::DB* database = nullptr;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(
      options, directory, FamilyOptions(), &opened.families, &database);
  if (LacksWal(status)) {
    return absl::DataLossError(
        absl::StrCat("a write-ahead log file in ", directory,
                     " is missing or too short, so acknowledged batches are "
                     "lost: ",
                     status.ToString(),
                     "; the aggregator continues without it when started"));
  }
  if (!status.ok()) return CannotOpen(directory, status);
  opened.database.reset(database);
  return opened;
}

}  // namespace fleetperf::aggregator
