// Locks of directories against other processes.

#ifndef FLEETPERF_BASE_OS_DIRECTORY_LOCK_H_
#define FLEETPERF_BASE_OS_DIRECTORY_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetperf {

// A lock of the directory itself, held until the object or the process ends.
// Unlike the lock of a file in it, it does not end when that file is removed
// and created again. On Windows, where an open file cannot be removed, and on
// file systems without such locks, it excludes nobody.
class DirectoryLock {
 public:
  enum class Kind { kExclusive, kShared };

  // Returns FailedPrecondition if the lock is held, even by this process,
  // unless both are shared.
  static absl::StatusOr<std::unique_ptr<DirectoryLock>> Acquire(
      const std::string& directory, Kind kind = Kind::kExclusive);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  explicit DirectoryLock(int descriptor) : descriptor_(descriptor) {}

  const int descriptor_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_DIRECTORY_LOCK_H_
