#include "aggregator/store/tables/copy_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = 1 << 20;

absl::Status ErrnoStatus(absl::string_view action, const std::string& path) {
  return StatusFromErrno(errno, absl::StrCat("cannot ", action, " ", path));
}

absl::Status WriteAll(int fd, absl::string_view bytes,
                      const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return ErrnoStatus("write", path);
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CopyFile(
    const std::string& from, const std::string& to, uint64_t size,
    absl::FunctionRef<absl::Status(uint64_t bytes)> on_copied) {
  const int source = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) return ErrnoStatus("read", from);
  const absl::Cleanup close_source = [source] { close(source); };
  const int target =
      open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (target < 0) return ErrnoStatus("create", to);
  const absl::Cleanup close_target = [target] { close(target); };
  const std::unique_ptr<char[]> buffer(new char[kPieceBytes]);
  while (size > 0) {
    const ssize_t taken =
        read(source, buffer.get(), std::min<uint64_t>(size, kPieceBytes));
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) return ErrnoStatus("read", from);
    if (taken == 0) {
      return absl::DataLossError(absl::StrCat(from, " is too short"));
    }
    const auto bytes = static_cast<size_t>(taken);
    RETURN_IF_ERROR(WriteAll(target, {buffer.get(), bytes}, to));
    RETURN_IF_ERROR(on_copied(bytes));
    size -= bytes;
  }
  return fsync(target) == 0 ? absl::OkStatus() : ErrnoStatus("sync", to);
}

absl::Status SyncDirectory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus("open", path);
  const absl::Cleanup close_directory = [fd] { close(fd); };
  return fsync(fd) == 0 ? absl::OkStatus() : ErrnoStatus("sync", path);
}

std::string DamagedFilesIn(const std::string& directory) {
  return absl::StrCat(directory, "/damaged");
}

absl::Status KeepFile(const std::string& path, const std::string& to) {
  RETURN_IF_ERROR(MakeDirectories(to));
  const std::string name =
      absl::StrCat(to, "/", fs::path(path).filename().string());
  std::string kept = name;
  std::error_code error;
  for (int number = 1; FileExists(kept); ++number) {
    // An earlier start was interrupted.
    if (fs::equivalent(path, kept, error)) return absl::OkStatus();
    kept = absl::StrCat(name, ".", number);
  }
  fs::create_hard_link(path, kept, error);
  if (!error) return SyncDirectory(to);
  const absl::Status copied =
      CopyFile(path, kept, fs::file_size(path, error),
               [](uint64_t) { return absl::OkStatus(); });
  if (copied.ok()) return SyncDirectory(to);
  fs::remove(kept, error);
  return absl::Status(
      copied.code(),
      absl::StrCat("cannot keep ", path, " for a repair: ", copied.message(),
                   "; free disk space, or move the files in ", to, " away"));
}

}  // namespace fleetperf::aggregator
