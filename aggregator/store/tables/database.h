// RocksDB as the store uses it: its families of keys, how they are kept, and
// its errors as ours.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_DATABASE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_DATABASE_H_

#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/write_batch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "aggregator/store/tables/commit_mark.h"
#include "aggregator/store/tables/wal_check.h"

namespace fleetperf::aggregator {

// keys.h says what is in each.
enum class Family { kDefault, kLog, kTimes, kChunks };

inline rocksdb::Slice ToSlice(absl::string_view text) {
  return rocksdb::Slice(text.data(), text.size());
}
inline absl::string_view ToView(const rocksdb::Slice& slice) {
  return absl::string_view(slice.data(), slice.size());
}

// The first key behind all that begin with `prefix`; empty: there is none.
inline std::string EndOfPrefix(absl::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) ++end.back();
  return end;
}

// Errors: ResourceExhausted if the disk is full, DataLoss if something is
// damaged, NotFound, else Unavailable.
absl::Status FromRocksDb(const rocksdb::Status& status,
                         absl::string_view action);

// Is told of a record that it is damaged, or another's, and left out.
using OnDamage = absl::FunctionRef<void(const absl::Status& damage)>;
// Says so in the log.
void LogDamage(const absl::Status& damage);

class Database;

// Changes that are made together or not at all. Thread-compatible.
class Changes {
 public:
  explicit Changes(const Database* database) : database_(*database) {}

  void Put(Family family, absl::string_view key, absl::string_view value);
  void Delete(Family family, absl::string_view key);

  // How many there are.
  size_t size() const { return static_cast<size_t>(batch_.Count()); }

 private:
  friend class Database;
  const Database& database_;
  rocksdb::WriteBatch batch_;
};

// The database as it was at a moment. Thread-safe.
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

// Thread-safe.
class Database {
 public:
  // In `directory`, which is made if need be. What its write-ahead log lacks is
  // left out, and told by wal(). FailedPrecondition if it cannot be opened:
  // another process may have it open.
  static absl::StatusOr<std::unique_ptr<Database>> Open(
      const std::string& directory);
  // Nothing can be written. Errors as Open; NotFound if there is no store.
  static absl::StatusOr<std::unique_ptr<Database>> OpenForReading(
      const std::string& directory);
  ~Database();

  // What was found of the write-ahead log before it was opened, and why it is
  // known that a file of it is missing; OK if that is not known.
  const WalCheck& wal() const { return wal_; }
  const absl::Status& missing_wal() const { return missing_wal_; }
  // The last commit that is known to have been synced then.
  const CommitMark& synced() const { return synced_; }

  const std::string& directory() const { return directory_; }

  // The files that keys and values are in, and whether one is as it was
  // written: DataLoss if not.
  std::vector<std::string> Files() const;
  absl::Status VerifyFile(const std::string& path) const;

  // What its keys and values take on disk, in bytes. Files that are kept only
  // for a backup, or a query, do not count.
  uint64_t Size() const;
  // Writes a family anew, so that what was removed takes no room any more.
  absl::Status Compact(Family family);
  // Writes all that was written before to files of keys and values, so that
  // damage in the write-ahead log cannot touch it. ResourceExhausted if the
  // disk is nearly full.
  absl::Status Flush();
  // Calls `use` with the files that make up the database, with all that was
  // written before; none of them goes away meanwhile. Returns its error.
  absl::Status UseLiveFiles(
      absl::FunctionRef<
          absl::Status(const std::vector<rocksdb::LiveFileStorageInfo>& files)>
          use);

  // What is durable survives a power cut. What is not survives the process, and
  // is not there without all that was written before it.
  enum class Durability { kProcess, kPowerCut };
  // ResourceExhausted if the disk is nearly full, too.
  absl::Status Write(Changes* changes, Durability durability);

  std::unique_ptr<const Snapshot> TakeSnapshot() {
    return std::make_unique<const Snapshot>(database_.get());
  }
  // A number that grows with every change.
  uint64_t LastChange() const { return database_->GetLatestSequenceNumber(); }
  // LastChange() of the oldest snapshot in use; UINT64_MAX if there is none.
  uint64_t OldestSnapshot() const;

  // As of `snapshot`; null: now. NotFound if there is no such key.
  absl::StatusOr<std::string> Get(Family family, absl::string_view key,
                                  const Snapshot* snapshot = nullptr) const;
  // The same without a copy: `value` is of the database, which outlives it.
  absl::Status GetPinned(Family family, absl::string_view key,
                         const Snapshot* snapshot,
                         rocksdb::PinnableSlice* value) const;
  // Through the keys of a family, in their order; up to `end`, which outlives
  // the iterator. Without an end, a search that finds nothing passes over all
  // that was removed behind it.
  std::unique_ptr<rocksdb::Iterator> Iterate(
      Family family, const Snapshot* snapshot = nullptr,
      const rocksdb::Slice* end = nullptr) const;
  // Calls `use` with each key that starts with `prefix` and its value.
  absl::Status ForEach(
      Family family, absl::string_view prefix,
      absl::FunctionRef<void(absl::string_view key, absl::string_view value)>
          use) const;

  rocksdb::ColumnFamilyHandle* family(Family family) const {
    return families_[static_cast<size_t>(family)];
  }

 private:
  explicit Database(std::string directory) : directory_(std::move(directory)) {}
  absl::Status CheckWal();
  absl::Status Lock();
  void Unlock();

  const std::string directory_;
  CommitMark synced_;
  WalCheck wal_;
  absl::Status missing_wal_;
  // Of a database that is open for reading, for which RocksDB takes none, and
  // while its log is checked.
  rocksdb::FileLock* lock_ = nullptr;
  std::unique_ptr<rocksdb::DB> database_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_DATABASE_H_
