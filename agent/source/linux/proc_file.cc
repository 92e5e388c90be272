#include "agent/source/linux/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/os/os_error.h"

namespace fleetperf::agent {
namespace {

// For a value of /proc/sys or /sys, the kernel allocates a buffer of the size
// requested. Small files therefore request no more than they can contain.
constexpr size_t kSmallSize = 4096;
constexpr size_t kWholeSize = 16384;

absl::Status ReadError(const std::string& path) {
  // When a process ends, its files vanish; reading an open one fails with
  // ESRCH.
  const int error = errno == ESRCH ? ENOENT : errno;
  return StatusFromErrno(error, absl::StrCat("cannot read ", path));
}

}  // namespace

ProcFile::~ProcFile() { Close(); }

void ProcFile::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

ProcFile::ProcFile(ProcFile&& other) noexcept
    : path_(std::move(other.path_)),
      kind_(other.kind_),
      fd_(std::exchange(other.fd_, -1)) {}

ProcFile& ProcFile::operator=(ProcFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(kind_, other.kind_);
  std::swap(fd_, other.fd_);
  return *this;
}

absl::StatusOr<absl::string_view> ProcFile::Read(std::string* buffer) {
  if (fd_ < 0) {
    fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) return ReadError(path_);
  }
  const size_t step = kind_ == Kind::kSmall ? kSmallSize : kWholeSize;
  if (buffer->size() < step) buffer->resize(step);
  size_t size = 0;
  for (;;) {
    const size_t room = kind_ == Kind::kSmall ? step : buffer->size() - size;
    const ssize_t got =
        pread(fd_, buffer->data() + size, room, static_cast<off_t>(size));
    if (got < 0) {
      if (errno == EINTR) continue;
      const absl::Status error = ReadError(path_);
      Close();
      return error;
    }
    size += static_cast<size_t>(got);
    // A short read is not the end of the file: files made of records return one
    // page at a time.
    if (got == 0 || kind_ == Kind::kSmall) break;
    if (size == buffer->size()) buffer->resize(2 * size);
  }
  return absl::string_view(*buffer).substr(0, size);
}

}  // namespace fleetperf::agent
