// Opens the RocksDB database of a store, and checks and repairs before that
// what RocksDB would delete or take for whole: the write-ahead log, the
// MANIFEST, the indexes of files.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_OPEN_DATABASE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_OPEN_DATABASE_H_

#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/store/tables/store_lock.h"
#include "aggregator/store/tables/wal_check.h"

namespace fleetperf::aggregator {

struct OpenedDatabase {
  WalCheck wal;  // of the write-ahead log before it was repaired
  // DataLoss if a file of the log, or of the data that was once in it, is
  // missing.
  absl::Status missing;
  // RocksDB itself locks the file LOCK for writing, and nothing for reading.
  std::unique_ptr<StoreLock> lock;
  std::unique_ptr<rocksdb::DB> database;
  // In the order of Family. The owner must destroy them before the database.
  std::vector<rocksdb::ColumnFamilyHandle*> families;
};

// See Database::Open and Database::OpenForReading, which call these.
absl::StatusOr<OpenedDatabase> OpenDatabase(const std::string& directory);
absl::StatusOr<OpenedDatabase> OpenDatabaseForReading(
    const std::string& directory);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_OPEN_DATABASE_H_
