#include "aggregator/store/tables/store_lock.h"

#include <fcntl.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/os/files.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

std::string LockPath(const std::string& directory) {
  return absl::StrCat(directory, "/LOCK");
}

absl::Status InUse(const std::string& directory) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot open the store in ", directory,
                   ": another process has it open; stop it first"));
}

absl::StatusOr<std::unique_ptr<DirectoryLock>> LockDirectory(
    const std::string& directory, DirectoryLock::Kind kind) {
  auto lock = DirectoryLock::Acquire(directory, kind);
  if (absl::IsFailedPrecondition(lock.status())) return InUse(directory);
  return lock;
}

bool IsWritable(const std::string& directory) {
  return access(directory.c_str(), W_OK) == 0 &&
         access(LockPath(directory).c_str(), W_OK) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoreLock>> StoreLock::Acquire(
    const std::string& directory) {
  std::unique_ptr<StoreLock> lock(new StoreLock);
  ASSIGN_OR_RETURN(lock->directory_,
                   LockDirectory(directory, DirectoryLock::Kind::kExclusive));
  const rocksdb::Status status =
      rocksdb::Env::Default()->LockFile(LockPath(directory), &lock->lock_);
  if (status.ok()) return lock;
  // Failing to open the file is a different error.
  const bool is_held =
      absl::StrContains(status.ToString(), "While lock file") ||
      absl::StrContains(status.ToString(), "lock hold by current process");
  if (is_held) return InUse(directory);
  return CannotOpen(directory, status);
}

absl::StatusOr<std::unique_ptr<StoreLock>> StoreLock::AcquireForReading(
    const std::string& directory) {
  if (IsWritable(directory)) return Acquire(directory);
  std::unique_ptr<StoreLock> lock(new StoreLock);
  ASSIGN_OR_RETURN(lock->directory_,
                   LockDirectory(directory, DirectoryLock::Kind::kShared));
  const std::string path = LockPath(directory);
  if (!FileExists(path)) return lock;  // restored, and never opened
  lock->file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (lock->file_ < 0) {
    return StatusFromErrno(errno, absl::StrCat("cannot open ", path));
  }
  struct flock range = {};
  range.l_type = F_RDLCK;
  range.l_whence = SEEK_SET;
  if (fcntl(lock->file_, F_SETLK, &range) == 0) return lock;
  if (errno == EAGAIN || errno == EACCES) return InUse(directory);
  return StatusFromErrno(errno, absl::StrCat("cannot lock ", path));
}

void StoreLock::ReleaseFile() {
  if (lock_ != nullptr) rocksdb::Env::Default()->UnlockFile(lock_);
  lock_ = nullptr;
}

StoreLock::~StoreLock() {
  ReleaseFile();
  if (file_ >= 0) close(file_);
}

}  // namespace fleetperf::aggregator
