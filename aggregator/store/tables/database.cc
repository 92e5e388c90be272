#include "aggregator/store/tables/database.h"

#include <rocksdb/utilities/debug.h>
#include <rocksdb/version.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/open_database.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "aggregator/store/tables/room.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

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
  ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(directory));
  return std::unique_ptr<Database>(new Database(directory, std::move(opened)));
}

absl::StatusOr<std::unique_ptr<Database>> Database::OpenForReading(
    const std::string& directory) {
  ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabaseForReading(directory));
  return std::unique_ptr<Database>(new Database(directory, std::move(opened)));
}

Database::Database(std::string directory, OpenedDatabase opened)
    : directory_(std::move(directory)),
      wal_(std::move(opened.wal)),
      missing_(std::move(opened.missing)),
      lock_(std::move(opened.lock)),
      database_(std::move(opened.database)),
      families_(std::move(opened.families)) {}

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
