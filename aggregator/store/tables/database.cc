#include "aggregator/store/tables/database.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/debug.h>
#include <rocksdb/version.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "aggregator/store/tables/copy_file.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/partial_restore.h"
#include "aggregator/store/tables/room.h"
#include "aggregator/store/tables/sst_index.h"
#include "aggregator/store/tables/wal_file.h"
#include "base/log.h"
#include "base/logging.h"
#include "base/os/files.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
// The size of the cache for blocks of the store.
constexpr size_t kCacheBytes = 64 * kMiB;

// RocksDB reads only logs that have been repaired. Its default mode would skip
// unreadable data together with everything after it, without an error.
constexpr auto kRecoveryMode =
    rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;

rocksdb::ColumnFamilyOptions OptionsOf(
    Family family, const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  // So that a damaged index can be rebuilt: see sst_index.h.
  table.enable_index_compression = false;
  switch (family) {
    case Family::kDefault:
    case Family::kTimes:
      options.compression = rocksdb::kLZ4Compression;
      options.write_buffer_size = 16 * kMiB;
      break;
    case Family::kLog:
      // Payloads are already compressed. They are removed after minutes,
      // usually before they are written to a file.
      options.compression = rocksdb::kNoCompression;
      options.write_buffer_size = 64 * kMiB;
      break;
    case Family::kChunks:
      // Chunks are already compressed. Each page of a chunk has its own block.
      options.compression = rocksdb::kNoCompression;
      options.write_buffer_size = 64 * kMiB;
      table.block_size = 16 * 1024;
      break;
  }
  // Damaged data cannot be compacted with new data. This must not stop new
  // writes.
  options.level0_slowdown_writes_trigger = 200;
  options.level0_stop_writes_trigger = 1000;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

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

// Receives RocksDB's own log. A log file next to the database would fail with
// the disk, and RocksDB 7.8 would fail with the log.
class RocksDbLog : public rocksdb::Logger {
 public:
  RocksDbLog() : rocksdb::Logger(rocksdb::WARN_LEVEL) {}

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char text[1024];
    std::vsnprintf(text, sizeof text, format, arguments);
    LogDebug("rocksdb: ", text);
  }
};

}  // namespace

std::vector<rocksdb::ColumnFamilyDescriptor> FamilyOptions() {
  const auto cache = rocksdb::NewLRUCache(kCacheBytes);
  return {
      {rocksdb::kDefaultColumnFamilyName, OptionsOf(Family::kDefault, cache)},
      {"log", OptionsOf(Family::kLog, cache)},
      {"times", OptionsOf(Family::kTimes, cache)},
      {"chunks", OptionsOf(Family::kChunks, cache)}};
}

absl::Status CannotOpen(const std::string& directory,
                        const rocksdb::Status& status) {
  const bool is_damaged = status.IsCorruption() || status.IsPathNotFound();
  const std::string message = absl::StrCat("cannot open the store in ",
                                           directory, ": ", status.ToString());
  return is_damaged ? absl::DataLossError(message)
                    : absl::FailedPreconditionError(message);
}

rocksdb::DBOptions CommonOptions() {
  rocksdb::DBOptions options;
  options.info_log = std::make_shared<RocksDbLog>();
  // The manifest records the size of each closed log.
  options.track_and_verify_wals_in_manifest = true;
  return options;
}

namespace {

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

absl::StatusOr<std::string> MakeTemporaryDirectory() {
  std::error_code error;
  std::string path =
      (std::filesystem::temp_directory_path(error) / "fleetperf-XXXXXX")
          .string();
  if (!error && mkdtemp(path.data()) != nullptr) return path;
  return StatusFromErrno(errno, absl::StrCat("cannot make ", path));
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

// Returns whether a log that was closed properly is missing or shorter now.
bool LacksWal(const rocksdb::Status& status) {
  return status.IsCorruption() &&
         (absl::StrContains(status.ToString(), "Missing WAL") ||
          absl::StrContains(status.ToString(), "Size mismatch: WAL"));
}

}  // namespace

absl::Status FromRocksDb(const rocksdb::Status& status,
                         absl::string_view action) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsNotFound()) return absl::NotFoundError("not in the store");
  const std::string message =
      absl::StrCat("the store cannot ", action, ": ", status.ToString());
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(message);
  if (status.IsCorruption()) return absl::DataLossError(message);
  return absl::UnavailableError(message);
}

absl::StatusOr<Listing> ListFiles(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string path, FindManifest(directory));
  ASSIGN_OR_RETURN(const std::string contents, ReadFile(path));
  const std::string name = std::filesystem::path(path).filename();
  // A database in memory that has the MANIFEST and nothing else.
  const std::unique_ptr<rocksdb::Env> memory(
      rocksdb::NewMemEnv(rocksdb::Env::Default()));
  const std::string scratch = "/listing";
  const auto write = [&](const std::string& file, const std::string& bytes) {
    return FromRocksDb(
        rocksdb::WriteStringToFile(memory.get(), bytes,
                                   absl::StrCat(scratch, "/", file)),
        "list its files");
  };
  RETURN_IF_ERROR(FromRocksDb(memory->CreateDirIfMissing(scratch), "list"));
  RETURN_IF_ERROR(write(name, contents));
  RETURN_IF_ERROR(write("CURRENT", absl::StrCat(name, "\n")));
  rocksdb::DBOptions options;
  options.env = memory.get();
  options.info_log = std::make_shared<RocksDbLog>();
  options.paranoid_checks = false;  // accepts that all files are missing
  // A start may have ended before it made all families.
  options.create_missing_column_families = true;
  options.skip_stats_update_on_db_open = true;
  std::vector<rocksdb::ColumnFamilyDescriptor> families = FamilyOptions();
  for (auto& family : families) family.options.disable_auto_compactions = true;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(options, scratch, families, &handles, &opened);
  if (!status.ok()) return CannotOpen(directory, status);
  const std::unique_ptr<rocksdb::DB> database(opened);
  Listing listing{.last_change = database->GetLatestSequenceNumber()};
  std::vector<rocksdb::LiveFileMetaData> files;
  database->GetLiveFilesMetaData(&files);
  for (const auto& file : files) {
    listing.files.push_back(
        {.name = std::string(absl::StripPrefix(file.name, "/")),
         .family = file.column_family_name,
         .size = file.size});
  }
  for (auto* handle : handles) database->DestroyColumnFamilyHandle(handle);
  return listing;
}

absl::StatusOr<std::string> FindManifest(const std::string& directory) {
  const std::string current = absl::StrCat(directory, "/CURRENT");
  const auto contents = ReadFile(current);
  if (absl::IsNotFound(contents.status())) {
    return absl::DataLossError(absl::StrCat(current, " is missing"));
  }
  RETURN_IF_ERROR(contents.status());
  absl::string_view name = *contents;
  if (!absl::ConsumeSuffix(&name, "\n") ||
      !absl::StartsWith(name, "MANIFEST-") || absl::StrContains(name, '/')) {
    return absl::DataLossError(absl::StrCat(current, " is damaged"));
  }
  const std::string path = absl::StrCat(directory, "/", name);
  if (FileExists(path)) return path;
  return absl::DataLossError(
      absl::StrCat(path, ", which CURRENT names, is missing"));
}

absl::StatusOr<std::optional<uint64_t>> FindManifestDamage(
    const std::string& path) {
  std::optional<uint64_t> damage;
  RETURN_IF_ERROR(ReadWalFile(
      path, [](uint64_t, absl::string_view) { return absl::OkStatus(); },
      [&](const WalRange& gap, bool) {
        if (!damage.has_value()) damage = gap.offset;
      }));
  return damage;
}

void LogDamage(const absl::Status& damage) {
  LogError("skipped: ", damage.message());
}

PrefixIterator::PrefixIterator(rocksdb::DB* database,
                               rocksdb::ColumnFamilyHandle* family,
                               absl::string_view prefix)
    : prefix_(prefix),
      end_(EndOfPrefix(prefix)),
      lower_bound_(prefix_),
      upper_bound_(end_) {
  rocksdb::ReadOptions options;
  options.iterate_lower_bound = &lower_bound_;
  if (!end_.empty()) options.iterate_upper_bound = &upper_bound_;
  entry_.reset(database->NewIterator(options, family));
}

void Changes::Put(Family family, absl::string_view key,
                  absl::string_view value) {
  NoteMachine(family, key);
  batch_.Put(database_.family(family), ToSlice(key), ToSlice(value));
}

void Changes::Delete(Family family, absl::string_view key) {
  NoteMachine(family, key);
  batch_.Delete(database_.family(family), ToSlice(key));
}

void Changes::DeleteRange(Family family, absl::string_view first,
                          absl::string_view end) {
  batch_.DeleteRange(database_.family(family), ToSlice(first), ToSlice(end));
}

void Changes::NoteMachine(Family family, absl::string_view key) {
  // The index by hour of receipt is not a machine's.
  if (family != Family::kChunks || absl::StartsWith(key, "R")) return;
  key.remove_prefix(std::min<size_t>(key.size(), 1));
  uint32_t machine = 0;
  if (GetBigEndian(&key, &machine)) {
    machines_.insert(machine % MachineVersions::kVersions);
  }
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(
    const std::string& directory) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  std::unique_ptr<Database> opened(new Database(directory));
  // The lock makes a file, which a restore would take for a store's.
  RETURN_IF_ERROR(CheckRestored(directory));
  ASSIGN_OR_RETURN(opened->lock_, StoreLock::Acquire(directory));
  RETURN_IF_ERROR(CheckRestored(directory));
  RETURN_IF_ERROR(CheckCurrent(directory));
  RETURN_IF_ERROR(opened->CheckWal());
  RETURN_IF_ERROR(opened->CheckManifest([&](const std::string& path) {
    return KeepFile(path, DamagedFilesIn(directory));
  }));
  RETURN_IF_ERROR(RepairWal(directory, opened->wal_));
  opened->lock_->ReleaseFile();
  rocksdb::DBOptions options = CommonOptions();
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.max_total_wal_size = 256 * kMiB;
  options.listeners.push_back(std::make_shared<BackgroundErrors>());
  // The logs hold all but the marker of MakeLogReplaceable().
  options.avoid_flush_during_shutdown = true;
  options.wal_recovery_mode = kRecoveryMode;
  rocksdb::DB* database = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(
      options, directory, FamilyOptions(), &opened->families_, &database);
  if (status.IsCorruption() && !LacksWal(status)) {
    ASSIGN_OR_RETURN(const bool is_changed, RebuildIndexes(directory));
    if (is_changed) {
      status = rocksdb::DB::Open(options, directory, FamilyOptions(),
                                 &opened->families_, &database);
    }
  }
  if (LacksWal(status)) {
    opened->missing_ = absl::DataLossError(
        absl::StrCat("a write-ahead log file is missing or too short, so "
                     "acknowledged batches are lost: ",
                     status.ToString(), opened->missing_.ok() ? "" : "; ",
                     opened->missing_.message()));
    // Opening without the option discards the manifest's list of logs until the
    // next start.
    options.track_and_verify_wals_in_manifest = false;
    status = rocksdb::DB::Open(options, directory, FamilyOptions(),
                               &opened->families_, &database);
  }
  if (!status.ok()) return CannotOpen(directory, status);
  opened->database_.reset(database);
  return opened;
}

absl::StatusOr<std::unique_ptr<Database>> Database::OpenForReading(
    const std::string& directory) {
  std::error_code error;
  RETURN_IF_ERROR(CheckRestored(directory));
  RETURN_IF_ERROR(CheckCurrent(directory));
  if (!std::filesystem::exists(directory + "/CURRENT", error)) {
    return absl::NotFoundError(
        absl::StrCat("there is no store in ", directory));
  }
  std::unique_ptr<Database> opened(new Database(directory));
  // Without the lock, files could be deleted while they are read.
  ASSIGN_OR_RETURN(opened->lock_, StoreLock::AcquireForReading(directory));
  RETURN_IF_ERROR(opened->CheckWal());
  RETURN_IF_ERROR(opened->CheckManifest(
      [](const std::string&) { return absl::OkStatus(); }));
  rocksdb::DBOptions options = CommonOptions();
  options.wal_recovery_mode = kRecoveryMode;
  std::string repaired;
  const absl::Cleanup remove = [&] {
    if (!repaired.empty()) std::filesystem::remove_all(repaired, error);
  };
  if (!opened->wal_.damage.empty() || opened->wal_.torn.has_value()) {
    ASSIGN_OR_RETURN(repaired, MakeTemporaryDirectory());
    RETURN_IF_ERROR(CopyRepairedWal(opened->wal_, repaired));
    options.wal_dir = repaired;
  }
  rocksdb::DB* database = nullptr;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(
      options, directory, FamilyOptions(), &opened->families_, &database);
  if (LacksWal(status)) {
    return absl::DataLossError(
        absl::StrCat("a write-ahead log file in ", directory,
                     " is missing or too short, so acknowledged batches are "
                     "lost: ",
                     status.ToString(),
                     "; the aggregator continues without it when started"));
  }
  if (!status.ok()) return CannotOpen(directory, status);
  opened->database_.reset(database);
  return opened;
}

absl::Status Database::CheckWal() {
  synced_ = SyncedMark::Read(directory_);
  ASSIGN_OR_RETURN(wal_, aggregator::CheckWal(directory_, synced_));
  return absl::OkStatus();
}

absl::Status Database::CheckManifest(
    absl::FunctionRef<absl::Status(const std::string&)> keep) {
  const auto manifest = FindManifest(directory_);
  if (!manifest.ok()) return absl::OkStatus();  // opening reports it
  ASSIGN_OR_RETURN(const auto damage, FindManifestDamage(*manifest));
  const auto listing = ListFiles(directory_);
  if (absl::IsDataLoss(listing.status())) return absl::OkStatus();
  RETURN_IF_ERROR(listing.status());
  const std::string aside = absl::StrCat(
      "; when the store is opened, it and the files that it does not list are "
      "kept in ",
      DamagedFilesIn(directory_));
  if (damage.has_value()) {
    LogWarning(*manifest, " cannot be read from byte ", *damage,
               " on: a power cut interrupted a write to it, or it is damaged "
               "and acknowledged batches may be missing",
               aside);
  }
  const uint64_t next = listing->last_change + 1;
  if (wal_.first_change.value_or(next) > next) {
    missing_ = absl::DataLossError(absl::StrCat(
        "the changes ", next, " to ", *wal_.first_change - 1,
        " of the store are neither in the files that ", *manifest,
        " lists nor in the write-ahead log, so acknowledged batches may be "
        "lost",
        aside));
  } else if (!damage.has_value()) {
    return absl::OkStatus();
  }
  std::set<std::string> listed;
  for (const ListedFile& file : listing->files) listed.insert(file.name);
  ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory_));
  for (const DirectoryEntry& entry : entries) {
    // RocksDB deletes these when it opens the database.
    if (!absl::EndsWith(entry.name, ".sst") || listed.contains(entry.name)) {
      continue;
    }
    RETURN_IF_ERROR(keep(absl::StrCat(directory_, "/", entry.name)));
  }
  return keep(*manifest);
}

Database::~Database() {
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    database_->DestroyColumnFamilyHandle(family);
  }
}

std::vector<std::string> Database::Files() const {
  std::vector<rocksdb::LiveFileMetaData> files;
  database_->GetLiveFilesMetaData(&files);
  std::vector<std::string> paths;
  for (const auto& file : files) {
    paths.push_back(absl::StrCat(file.db_path, file.name));
  }
  return paths;
}

uint64_t Database::Size() const {
  uint64_t size = 0;
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    uint64_t files = 0;
    database_->GetIntProperty(
        family, rocksdb::DB::Properties::kLiveSstFilesSize, &files);
    size += files;
  }
  return size;
}

uint64_t Database::ApproximateSize(Family of, absl::string_view from,
                                   absl::string_view to) const {
  rocksdb::SizeApproximationOptions options;
  options.include_memtables = true;
  const rocksdb::Range range(ToSlice(from), ToSlice(to));
  uint64_t size = 0;
  // Without an answer, the range counts as empty.
  database_->GetApproximateSizes(options, family(of), &range, 1, &size)
      .PermitUncheckedError();
  return size;
}

absl::Status Database::Compact(Family of) {
  return FromRocksDb(database_->CompactRange({}, family(of), nullptr, nullptr),
                     "compact");
}

absl::Status Database::Ingest(Family of, const std::string& path) {
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  return FromRocksDb(database_->IngestExternalFile(family(of), {path}, options),
                     "add a file");
}

uint64_t Database::BytesInMemory() const {
  uint64_t size = 0;
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    uint64_t of_family = 0;
    database_->GetIntProperty(
        family, rocksdb::DB::Properties::kCurSizeAllMemTables, &of_family);
    size += of_family;
  }
  return size;
}

absl::Status Database::Flush() {
  RETURN_IF_ERROR(
      CheckRoom(directory_, BytesInMemory(), DiskUse::kMaintenance));
  return FromRocksDb(database_->Flush(rocksdb::FlushOptions(), families_),
                     "write its files");
}

absl::Status Database::UseLiveFiles(
    absl::FunctionRef<
        absl::Status(const std::vector<rocksdb::LiveFileStorageInfo>&)>
        use) {
  RETURN_IF_ERROR(
      FromRocksDb(database_->DisableFileDeletions(), "keep its files"));
  const absl::Cleanup enable = [this] {
#if ROCKSDB_MAJOR >= 9
    database_->EnableFileDeletions().PermitUncheckedError();
#else
    // Deletions that other callers have disabled remain disabled.
    database_->EnableFileDeletions(/*force=*/false).PermitUncheckedError();
#endif
  };
  std::vector<rocksdb::LiveFileStorageInfo> files;
  RETURN_IF_ERROR(FromRocksDb(database_->GetLiveFilesStorageInfo({}, &files),
                              "list its files"));
  return use(files);
}

bool Database::HasEntryInMemory() const {
  uint64_t entries = 0;
  database_->GetIntProperty(family(Family::kDefault),
                            rocksdb::DB::Properties::kNumEntriesActiveMemTable,
                            &entries);
  return entries != 0;
}

// After a write that found no space, RocksDB starts a new log only if a memory
// table has an entry. Without one, it writes on to the log that failed, which
// is a failed assertion in RocksDB 7.8. The deletion of a key that no record
// has, in memory only, is that entry.
absl::Status Database::MakeLogReplaceable() {
  if (HasEntryInMemory()) return absl::OkStatus();
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  const rocksdb::Status status =
      database_->Delete(options, family(Family::kDefault), rocksdb::Slice());
  if (status.ok()) ++unlogged_;
  return FromRocksDb(status, "write");
}

absl::Status Database::Write(Changes* changes, Durability durability) {
  // An empty write would leave a number of no change in the log.
  if (changes->size() == 0 && durability == Durability::kProcess) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckRoom(directory_, changes->batch_.GetDataSize(),
                            DiskUse::kMaintenance));
  const MachineVersions::Change change(&changes->machines_, &versions_);
  rocksdb::WriteOptions options;
  options.sync = durability == Durability::kPowerCut;
  {
    absl::ReaderMutexLock lock(&log_mutex_);
    if (unlogged_ == 0 && HasEntryInMemory()) {
      return FromRocksDb(database_->Write(options, &changes->batch_), "write");
    }
  }
  absl::MutexLock lock(&log_mutex_);
  RETURN_IF_ERROR(MakeLogReplaceable());
  if (unlogged_ != 0) changes->batch_.PutLogData(UnloggedChanges(unlogged_));
  const rocksdb::Status status = database_->Write(options, &changes->batch_);
  if (status.ok()) unlogged_ = 0;
  return FromRocksDb(status, "write");
}

absl::StatusOr<std::string> Database::Get(Family of, absl::string_view key,
                                          const Snapshot* snapshot) const {
  rocksdb::PinnableSlice value;
  RETURN_IF_ERROR(GetPinned(of, key, snapshot, &value));
  return value.ToString();
}

absl::Status Database::GetPinned(Family of, absl::string_view key,
                                 const Snapshot* snapshot,
                                 rocksdb::PinnableSlice* value) const {
  value->Reset();
  rocksdb::ReadOptions options;
  if (snapshot != nullptr) options.snapshot = snapshot->snapshot_;
  return FromRocksDb(database_->Get(options, family(of), ToSlice(key), value),
                     "read");
}

absl::StatusOr<bool> Database::HasChangedSince(Family of, absl::string_view key,
                                               uint64_t change) const {
  std::vector<rocksdb::KeyVersion> newest_first;
  RETURN_IF_ERROR(FromRocksDb(
      rocksdb::GetAllKeyVersions(database_.get(), family(of), ToSlice(key),
                                 ToSlice(key), /*max_num_ikeys=*/1,
                                 &newest_first),
      "read"));
  return !newest_first.empty() && newest_first[0].sequence > change;
}

uint64_t Database::OldestSnapshot() const {
  uint64_t oldest = 0;
  database_->GetIntProperty(rocksdb::DB::Properties::kOldestSnapshotSequence,
                            &oldest);
  return oldest != 0 ? oldest : UINT64_MAX;
}

std::unique_ptr<rocksdb::Iterator> Database::Iterate(
    Family of, const Snapshot* snapshot, const rocksdb::Slice* end) const {
  rocksdb::ReadOptions options;
  if (snapshot != nullptr) options.snapshot = snapshot->snapshot_;
  options.iterate_upper_bound = end;
  return std::unique_ptr<rocksdb::Iterator>(
      database_->NewIterator(options, family(of)));
}

absl::Status Database::ForEach(
    Family of, absl::string_view prefix,
    absl::FunctionRef<void(absl::string_view, absl::string_view)> use) const {
  const PrefixIterator entry = IteratePrefix(of, prefix);
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    use(ToView(entry->key()), ToView(entry->value()));
  }
  return FromRocksDb(entry->status(), "read");
}

}  // namespace fleetperf::aggregator
