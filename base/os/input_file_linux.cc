#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/os/input_file.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"
#include "base/text/suggest.h"

namespace fleetperf {
namespace {

absl::Status CannotRead(const std::string& path) {
  return StatusFromErrno(errno, absl::StrCat("cannot read ", path));
}

absl::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  if (S_ISSOCK(mode)) return "a socket";
  return "of a special kind";
}

absl::Status CheckInput(const struct stat& status, const std::string& path,
                        internal::InputSecrecy secrecy) {
  if (!S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is ", KindOf(status.st_mode),
                     "; name a regular file, or a link to one"));
  }
  if (secrecy == internal::InputSecrecy::kSecret &&
      (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        path, " is secret, but other users may access it; run: chmod 600 ",
        ShellQuoted(path)));
  }
  return static_cast<uint64_t>(status.st_size) > kMaxInputFileBytes
             ? internal::InputTooLarge(path)
             : absl::OkStatus();
}

// A file may grow while it is read, and files of /proc have no size.
absl::StatusOr<std::string> ReadBounded(int fd, const std::string& path) {
  std::string contents;
  char buffer[16384];
  for (;;) {
    const ssize_t size = read(fd, buffer, sizeof buffer);
    if (size == 0) return contents;
    if (size < 0 && errno != EINTR) return CannotRead(path);
    if (size > 0) contents.append(buffer, static_cast<size_t>(size));
    if (contents.size() > kMaxInputFileBytes)
      return internal::InputTooLarge(path);
  }
}

}  // namespace

absl::StatusOr<std::string> internal::ReadRegularFile(const std::string& path,
                                                      InputSecrecy secrecy) {
  struct stat status;
  // Before the file is opened, which starts actions of some devices.
  if (stat(path.c_str(), &status) != 0) return CannotRead(path);
  RETURN_IF_ERROR(CheckInput(status, path, secrecy));
  // If the path names a FIFO by now, opening it does not wait for a writer.
  const int fd =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return CannotRead(path);
  const absl::Cleanup close_file = [fd] { close(fd); };
  if (fstat(fd, &status) != 0) return CannotRead(path);
  RETURN_IF_ERROR(CheckInput(status, path, secrecy));
  return ReadBounded(fd, path);
}

}  // namespace fleetperf
