#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/os/directory_lock.h"
#include "base/os/os_error.h"

namespace fleetperf {

absl::StatusOr<std::unique_ptr<DirectoryLock>> DirectoryLock::Acquire(
    const std::string& directory, Kind kind) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return StatusFromErrno(errno, absl::StrCat("cannot open ", directory));
  }
  std::unique_ptr<DirectoryLock> lock(new DirectoryLock(fd));
  const int operation = kind == Kind::kShared ? LOCK_SH : LOCK_EX;
  // Network file systems do not lock directories.
  if (flock(fd, operation | LOCK_NB) == 0 || errno != EWOULDBLOCK) return lock;
  return absl::FailedPreconditionError(
      absl::StrCat(directory, " is in use by another process"));
}

DirectoryLock::~DirectoryLock() { close(descriptor_); }

}  // namespace fleetperf
