#include "agent/source/linux/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/os_error.h"

namespace fleetperf::agent {
namespace {

// The kernel allocates as much as it is asked for when it prints a value of
// /proc/sys or /sys, so small files are not asked for more than they can have.
constexpr size_t kSmallSize = 4096;
constexpr size_t kWholeSize = 16384;

absl::Status ReadError(const std::string& path) {
  // A process that ended: its files vanish, or those still open say ESRCH.
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
    // A short read is not the end: files made of records return a page at a
    // time.
    if (got == 0 || kind_ == Kind::kSmall) break;
    if (size == buffer->size()) buffer->resize(2 * size);
  }
  return absl::string_view(*buffer).substr(0, size);
}

}  // namespace fleetperf::agent
