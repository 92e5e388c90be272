// The store's use of RocksDB: reads, atomic changes and their durability.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_DATABASE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_DATABASE_H_

#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/slice.h>
#include <rocksdb/write_batch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/machine_versions.h"
#include "aggregator/store/tables/store_lock.h"
#include "aggregator/store/tables/wal_check.h"

namespace fleetperf::aggregator {

// Called for each record that is skipped because it is damaged or was not
// written by the store.
using OnDamage = absl::FunctionRef<void(const absl::Status& damage)>;
// An OnDamage that logs the error.
void LogDamage(const absl::Status& damage);

class Database;
struct OpenedDatabase;

// A set of changes that is applied atomically. Thread-compatible.
class Changes {
 public:
  explicit Changes(const Database* database) : database_(*database) {}

  void Put(Family family, absl::string_view key, absl::string_view value);
  void Delete(Family family, absl::string_view key);
  // Deletes the keys from `first` up to `end`, without reading them. Each such
  // range costs all later reads of the family until it is compacted. Not for
  // Family::kChunks, whose machines would be unknown.
  void DeleteRange(Family family, absl::string_view first,
                   absl::string_view end);

  // The number of changes.
  size_t size() const { return static_cast<size_t>(batch_.Count()); }

 private:
  friend class Database;
  // Notes the machine of a key of Family::kChunks.
  void NoteMachine(Family family, absl::string_view key);

  const Database& database_;
  rocksdb::WriteBatch batch_;
  // The machines whose chunks or losses change; see MachineVersions::Change.
  std::set<uint32_t> machines_;
};

// A consistent view of the database at one moment. Thread-safe.
class Snapshot {
 public:
  explicit Snapshot(rocksdb::DB* database)
      : database_(*database), snapshot_(database->GetSnapshot()) {}
  ~Snapshot() { database_.ReleaseSnapshot(snapshot_); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  friend class Database;
  rocksdb::DB& database_;
  const rocksdb::Snapshot* const snapshot_;
};

// Iterates over the keys that start with a prefix. Without these bounds, a
// search that finds nothing scans all deleted keys beside them.
class PrefixIterator {
 public:
  PrefixIterator(rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
                 absl::string_view prefix);
  // RocksDB refers to the bounds.
  PrefixIterator(const PrefixIterator&) = delete;
  PrefixIterator& operator=(const PrefixIterator&) = delete;

  rocksdb::Iterator* operator->() const { return entry_.get(); }

 private:
  const std::string prefix_, end_;
  const rocksdb::Slice lower_bound_, upper_bound_;
  std::unique_ptr<rocksdb::Iterator> entry_;
};

// A RocksDB database. Thread-safe.
class Database {
 public:
  // Opens the database in `directory`, and creates it if necessary. Unreadable
  // parts of the write-ahead log are skipped and reported by wal(). Returns
  // DataLoss if the database is too damaged to be opened, and
  // FailedPrecondition if it cannot be opened for another reason, for example
  // because another process has it open.
  static absl::StatusOr<std::unique_ptr<Database>> Open(
      const std::string& directory);
  // Opens the database read-only, also where this process may not write;
  // creates no file there. Errors: as Open, and NotFound if there is no store.
  static absl::StatusOr<std::unique_ptr<Database>> OpenForReading(
      const std::string& directory);
  ~Database();

  // The state of the write-ahead log before the database was opened, and
  // DataLoss if a file of the log, or of the data that was once in it, is
  // missing.
  const WalCheck& wal() const { return wal_; }
  const absl::Status& missing() const { return missing_; }

  const std::string& directory() const { return directory_; }

  // Returns the paths of the files that hold keys and values.
  std::vector<std::string> Files() const;

  // The size of the keys and values on disk, in bytes. Files retained only for
  // a backup or a query do not count.
  uint64_t Size() const;
  // Returns the approximate part of Size() that the keys from `from` to before
  // `to` have, including changes that are not on disk yet.
  uint64_t ApproximateSize(Family family, absl::string_view from,
                           absl::string_view to) const;
  // Rewrites a family, which frees the space of removed keys.
  absl::Status Compact(Family family);
  // Adds the keys and values of a file that rocksdb::SstFileWriter made to a
  // family, in place of values that it has. Moves the file.
  absl::Status Ingest(Family family, const std::string& path);
  // The bytes of changes that are in the write-ahead log only, about.
  uint64_t BytesInMemory() const;
  // Writes all earlier changes to files of keys and values, so that damage to
  // the write-ahead log cannot affect them. Returns ResourceExhausted if the
  // disk is nearly full.
  absl::Status Flush();
  // Calls `use` with the files that make up the database, including all earlier
  // writes, and returns its error. No file is deleted during the call.
  absl::Status UseLiveFiles(
      absl::FunctionRef<
          absl::Status(const std::vector<rocksdb::LiveFileStorageInfo>& files)>
          use);

  // kPowerCut: the write survives a power cut. kProcess: the write survives the
  // end of the process. A write that survives implies that all earlier writes
  // do.
  enum class Durability { kProcess, kPowerCut };
  // Applies the changes. Returns ResourceExhausted if the disk is nearly full.
  absl::Status Write(Changes* changes, Durability durability);

  std::unique_ptr<const Snapshot> TakeSnapshot() {
    return std::make_unique<const Snapshot>(database_.get());
  }
  const MachineVersions& versions() const { return versions_; }
  // A number that grows with every change.
  uint64_t LastChange() const { return database_->GetLatestSequenceNumber(); }
  // LastChange() of the oldest snapshot in use. UINT64_MAX if there is none.
  uint64_t OldestSnapshot() const;

  // Returns the value as of `snapshot`, or the current value if `snapshot` is
  // null. Returns NotFound if the key does not exist.
  absl::StatusOr<std::string> Get(Family family, absl::string_view key,
                                  const Snapshot* snapshot = nullptr) const;
  // Like Get, but without a copy. `value` refers to memory of the database,
  // which must outlive it.
  absl::Status GetPinned(Family family, absl::string_view key,
                         const Snapshot* snapshot,
                         rocksdb::PinnableSlice* value) const;
  // Returns whether the key was written or deleted after the change with the
  // number `change`.
  absl::StatusOr<bool> HasChangedSince(Family family, absl::string_view key,
                                       uint64_t change) const;
  // Iterates over the keys of a family in order, up to `end`, which must
  // outlive the iterator. Without an end, a search that finds nothing scans all
  // deleted keys that follow.
  std::unique_ptr<rocksdb::Iterator> Iterate(
      Family family, const Snapshot* snapshot = nullptr,
      const rocksdb::Slice* end = nullptr) const;
  // Iterates over the keys that start with `prefix`.
  PrefixIterator IteratePrefix(Family family, absl::string_view prefix) const {
    return PrefixIterator(database_.get(), this->family(family), prefix);
  }
  // Calls `use` with each key that starts with `prefix` and its value.
  absl::Status ForEach(
      Family family, absl::string_view prefix,
      absl::FunctionRef<void(absl::string_view key, absl::string_view value)>
          use) const;

  rocksdb::ColumnFamilyHandle* family(Family family) const {
    return families_[static_cast<size_t>(family)];
  }

 private:
  Database(std::string directory, OpenedDatabase opened);
  // In the memory table of Family::kDefault.
  bool HasEntryInMemory() const ABSL_SHARED_LOCKS_REQUIRED(log_mutex_);
  absl::Status MakeLogReplaceable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(log_mutex_);

  const std::string directory_;
  const WalCheck wal_;
  const absl::Status missing_;
  const std::unique_ptr<StoreLock> lock_;
  const std::unique_ptr<rocksdb::DB> database_;
  const std::vector<rocksdb::ColumnFamilyHandle*> families_;
  MachineVersions versions_;
  // Exclusive while a write follows unlogged changes, shared by other writes.
  absl::Mutex log_mutex_;
  // Changes that are in no log, since the last write to one.
  uint32_t unlogged_ ABSL_GUARDED_BY(log_mutex_) = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_DATABASE_H_
