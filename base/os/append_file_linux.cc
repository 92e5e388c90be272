#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/os/append_file.h"
#include "base/os/os_error.h"

namespace fleetperf {
namespace {

absl::Status LastErrno(absl::string_view action, const std::string& path) {
  return StatusFromErrno(errno, absl::StrCat("cannot ", action, " ", path));
}

int OpenOwnersFile(const std::string& path, int flags) {
  return open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0600);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AppendFile>> AppendFile::Open(
    const std::string& path) {
  const int fd = OpenOwnersFile(path, O_WRONLY);
  if (fd < 0) return LastErrno("open", path);
  const off_t end = lseek(fd, 0, SEEK_END);
  if (end < 0) {
    const absl::Status error = LastErrno("open", path);
    close(fd);
    return error;
  }
  return std::unique_ptr<AppendFile>(
      new AppendFile(path, fd, static_cast<uint64_t>(end)));
}

AppendFile::~AppendFile() { close(static_cast<int>(handle_)); }

absl::Status AppendFile::Append(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        write(static_cast<int>(handle_), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return LastErrno("write", path_);
    position_ += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status AppendFile::Rewind() {
  if (lseek(static_cast<int>(handle_), 0, SEEK_SET) != 0) {
    return LastErrno("rewind", path_);
  }
  position_ = 0;
  return absl::OkStatus();
}

absl::Status AppendFile::Sync() {
  return fdatasync(static_cast<int>(handle_)) == 0 ? absl::OkStatus()
                                                   : LastErrno("sync", path_);
}

absl::StatusOr<std::unique_ptr<FileLock>> FileLock::Acquire(
    const std::string& path) {
  const int fd = OpenOwnersFile(path, O_RDWR);
  if (fd < 0) return LastErrno("open", path);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
    return std::unique_ptr<FileLock>(new FileLock(fd));
  }
  const absl::Status error = errno == EWOULDBLOCK
                                 ? absl::FailedPreconditionError(absl::StrCat(
                                       path, " is in use by another process"))
                                 : LastErrno("lock", path);
  close(fd);
  return error;
}

FileLock::~FileLock() { close(static_cast<int>(handle_)); }

}  // namespace fleetperf
