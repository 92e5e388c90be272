// The lock that keeps other processes from using a store.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_STORE_LOCK_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_STORE_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rocksdb {
class FileLock;
}  // namespace rocksdb

namespace fleetperf::aggregator {

// Held until the object or the process ends. RocksDB takes the same lock when
// it opens a database for writing.
class StoreLock {
 public:
  // Returns FailedPrecondition if another process, or this one, has the store
  // in `directory` open, or if the file LOCK cannot be written.
  static absl::StatusOr<std::unique_ptr<StoreLock>> Acquire(
      const std::string& directory);
  // Like Acquire, but works where this process may not write: it then creates
  // no file, and other readers may hold the lock, too.
  static absl::StatusOr<std::unique_ptr<StoreLock>> AcquireForReading(
      const std::string& directory);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

 private:
  StoreLock() = default;

  rocksdb::FileLock* lock_ = nullptr;
  int file_ = -1;  // locked for reading
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_STORE_LOCK_H_
