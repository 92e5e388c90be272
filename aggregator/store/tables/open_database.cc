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
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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
// take it for a new directory and delete the data. An interrupted first start
// leaves neither kind of file.
absl::Status CheckCurrent(const std::string& directory) {
  std::error_code error;
  if (std::filesystem::exists(directory + "/CURRENT", error)) {
    return absl::OkStatus();
  }
  for (const auto& file :
       std::filesystem::directory_iterator(directory, error)) {
    const std::string extension = file.path().extension();
    const std::string number = file.path().stem();
    if ((extension != ".sst" && extension != ".log") ||
        number.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    return absl::DataLossError(
        absl::StrCat("the store in ", directory,
                     " has data, but the file CURRENT is missing"));
  }
  return absl::OkStatus();
}

absl::Status ReadWal(const std::string& directory, OpenedDatabase* opened) {
  opened->synced = SyncedMark::Read(directory);
  ASSIGN_OR_RETURN(opened->wal, CheckWal(directory, opened->synced));
  return absl::OkStatus();
}

// If records at the end of the MANIFEST may be lost, logs this, and calls
// `keep` with the paths of the MANIFEST and of files that it does not list.
// Sets `missing` if changes before those of the log are in no listed file.
absl::Status CheckManifest(
    const std::string& directory,
    absl::FunctionRef<absl::Status(const std::string& path)> keep,
    OpenedDatabase* opened) {
  const auto manifest = FindManifest(directory);
  if (!manifest.ok()) return absl::OkStatus();  // opening reports it
  ASSIGN_OR_RETURN(const auto damage, FindManifestDamage(*manifest));
  const auto listing = ListFiles(directory);
  if (absl::IsDataLoss(listing.status())) return absl::OkStatus();
  RETURN_IF_ERROR(listing.status());
  const std::string aside = absl::StrCat(
      "; when the store is opened, it and the files that it does not list are "
      "kept in ",
      DamagedFilesIn(directory));
  if (damage.has_value()) {
    LogWarning(*manifest, " cannot be read from byte ", *damage,
               " on: a power cut interrupted a write to it, or it is damaged "
               "and acknowledged batches may be missing",
               aside);
  }
  const uint64_t next = listing->last_change + 1;
  if (opened->wal.first_change.value_or(next) > next) {
    opened->missing = absl::DataLossError(absl::StrCat(
        "the changes ", next, " to ", *opened->wal.first_change - 1,
        " of the store are neither in the files that ", *manifest,
        " lists nor in the write-ahead log, so acknowledged batches may be "
        "lost",
        aside));
  } else if (!damage.has_value()) {
    return absl::OkStatus();
  }
  std::set<std::string> listed;
  for (const ListedFile& file : listing->files) listed.insert(file.name);
  ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory));
  for (const DirectoryEntry& entry : entries) {
    // RocksDB deletes these when it opens the database.
    if (!absl::EndsWith(entry.name, ".sst") || listed.contains(entry.name)) {
      continue;
    }
    RETURN_IF_ERROR(keep(absl::StrCat(directory, "/", entry.name)));
  }
  return keep(*manifest);
}

// Rebuilds indexes of files, and logs each. Returns false if none is rebuilt.
absl::StatusOr<bool> RebuildIndexes(const std::string& directory) {
  const auto listing = ListFiles(directory);
  if (!listing.ok()) return false;  // the MANIFEST is damaged
  std::vector<std::string> paths;
  for (const ListedFile& file : listing->files) {
    paths.push_back(absl::StrCat(directory, "/", file.name));
  }
  ASSIGN_OR_RETURN(const auto rebuilt,
                   RebuildSstIndexes(paths, DamagedFilesIn(directory)));
  for (const std::string& path : rebuilt) {
    LogError(path,
             " has a damaged index: rebuilt it from the file's data, nothing "
             "is lost; the damaged file is kept in ",
             DamagedFilesIn(directory));
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
  RETURN_IF_ERROR(ReadWal(directory, &opened));
  RETURN_IF_ERROR(CheckManifest(
      directory,
      [&](const std::string& path) {
        return KeepFile(path, DamagedFilesIn(directory));
      },
      &opened));
  RETURN_IF_ERROR(RepairWal(directory, opened.wal));
  opened.lock->ReleaseFile();
  RETURN_IF_ERROR(OpenForWriting(directory, &opened));
  return opened;
}

absl::StatusOr<OpenedDatabase> OpenDatabaseForReading(
    const std::string& directory) {
  std::error_code error;
  RETURN_IF_ERROR(CheckRestored(directory));
  RETURN_IF_ERROR(CheckCurrent(directory));
  if (!std::filesystem::exists(directory + "/CURRENT", error)) {
    return absl::NotFoundError(
        absl::StrCat("there is no store in ", directory));
  }
  OpenedDatabase opened;
  // Without the lock, files could be deleted while they are read.
  ASSIGN_OR_RETURN(opened.lock, StoreLock::AcquireForReading(directory));
  RETURN_IF_ERROR(ReadWal(directory, &opened));
  RETURN_IF_ERROR(CheckManifest(
      directory, [](const std::string&) { return absl::OkStatus(); }, &opened));
  rocksdb::DBOptions options = CommonOptions();
  options.wal_recovery_mode = kRecoveryMode;
  std::string repaired;
  const absl::Cleanup remove = [&] {
    if (!repaired.empty()) std::filesystem::remove_all(repaired, error);
  };
  if (!opened.wal.damage.empty() || opened.wal.torn.has_value()) {
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
