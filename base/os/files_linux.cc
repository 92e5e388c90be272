#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "base/os/os_error.h"

namespace fleetperf {
namespace {

absl::Status ErrnoStatus(absl::string_view action, const std::string& path) {
  return StatusFromErrno(errno, absl::StrCat("cannot ", action, " ", path));
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path) {
  std::string contents;
  char buffer[16384];
  for (;;) {
    const ssize_t size = read(fd, buffer, sizeof buffer);
    if (size == 0) return contents;
    if (size < 0 && errno != EINTR) return ErrnoStatus("read", path);
    if (size > 0) contents.append(buffer, static_cast<size_t>(size));
  }
}

absl::Status WriteAll(int fd, absl::string_view contents,
                      const std::string& path) {
  while (!contents.empty()) {
    const ssize_t written = write(fd, contents.data(), contents.size());
    if (written < 0 && errno != EINTR) return ErrnoStatus("write", path);
    if (written > 0) contents.remove_prefix(static_cast<size_t>(written));
  }
  return fsync(fd) == 0 ? absl::OkStatus() : ErrnoStatus("sync", path);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus("read", path);
  const absl::Cleanup close_file = [fd] { close(fd); };
  return ReadAll(fd, path);
}

absl::StatusOr<std::string> ReadFileRange(const std::string& path,
                                          uint64_t offset, size_t size) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus("read", path);
  const absl::Cleanup close_file = [fd] { close(fd); };
  std::string contents(size, '\0');
  for (size_t done = 0; done < size;) {
    const ssize_t read = pread(fd, contents.data() + done, size - done,
                               static_cast<off_t>(offset + done));
    if (read == 0) return absl::DataLossError(absl::StrCat(path, " is short"));
    if (read < 0 && errno != EINTR) return ErrnoStatus("read", path);
    if (read > 0) done += static_cast<size_t>(read);
  }
  return contents;
}

absl::Status WriteFile(const std::string& path, absl::string_view contents,
                       FileAccess access) {
  const mode_t mode = access == FileAccess::kOwnerOnly ? 0600 : 0644;
  const std::string temporary = absl::StrCat(path, ".new");
  unlink(temporary.c_str());
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return ErrnoStatus("create", path);
  absl::Status status = WriteAll(fd, contents, path);
  if (status.ok() && access == FileAccess::kPublic && fchmod(fd, mode) != 0) {
    status = ErrnoStatus("set the mode of", path);
  }
  close(fd);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus("replace", path);
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

bool FileExists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

absl::Status MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return StatusFromErrorCode(error,
                             absl::StrCat("cannot make directory ", path));
}

absl::Status RemoveFile(const std::string& path) {
  return unlink(path.c_str()) == 0 || errno == ENOENT
             ? absl::OkStatus()
             : ErrnoStatus("remove", path);
}

absl::Status RenameFile(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0
             ? absl::OkStatus()
             : ErrnoStatus("rename", from);
}

absl::Status TruncateFile(const std::string& path, uint64_t size) {
  return truncate(path.c_str(), static_cast<off_t>(size)) == 0
             ? absl::OkStatus()
             : ErrnoStatus("truncate", path);
}

absl::StatusOr<std::vector<DirectoryEntry>> ListDirectory(
    const std::string& path) {
  std::vector<DirectoryEntry> entries;
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator();
       entry.increment(error)) {
    std::error_code gone;
    const uint64_t size = entry->file_size(gone);
    entries.push_back(
        {.name = entry->path().filename().string(), .size = gone ? 0 : size});
  }
  if (error)
    return StatusFromErrorCode(error, absl::StrCat("cannot read ", path));
  return entries;
}

}  // namespace fleetperf
