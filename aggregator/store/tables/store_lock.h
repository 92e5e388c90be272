// The lock that keeps other processes from using a store.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_STORE_LOCK_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_STORE_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/os/directory_lock.h"

namespace rocksdb {
class FileLock;
}  // namespace rocksdb

namespace fleetperf::aggregator {

// Held until the object or the process ends. It has two parts: the file LOCK,
// which RocksDB locks when it opens a database for writing, and the directory,
// because the file may be removed.
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
  // Releases the file LOCK, so that RocksDB can lock it.
  void ReleaseFile();
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

 private:
  StoreLock() = default;

  std::unique_ptr<DirectoryLock> directory_;
  rocksdb::FileLock* lock_ = nullptr;
  int file_ = -1;  // locked for reading
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_STORE_LOCK_H_
