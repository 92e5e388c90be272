#include <windows.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/os/append_file.h"
#include "base/os/os_error.h"
#include "base/os/wide_windows.h"

namespace fleetperf {
namespace {

constexpr DWORD kMaxWrite = 1 << 24;

absl::Status LastWin32Error(absl::string_view action, const std::string& path) {
  return StatusFromWin32(GetLastError(),
                         absl::StrCat("cannot ", action, " ", path));
}

HANDLE HandleOf(intptr_t handle) { return reinterpret_cast<HANDLE>(handle); }

}  // namespace

absl::StatusOr<std::unique_ptr<AppendFile>> AppendFile::Open(
    const std::string& path) {
  const HANDLE file = CreateFileW(LongPath(path).c_str(), GENERIC_WRITE,
                                  FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                                  OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return LastWin32Error("open", path);
  LARGE_INTEGER size;
  if (!SetFilePointerEx(file, {}, &size, FILE_END)) {
    const absl::Status error = LastWin32Error("open", path);
    CloseHandle(file);
    return error;
  }
  return std::unique_ptr<AppendFile>(
      new AppendFile(path, reinterpret_cast<intptr_t>(file),
                     static_cast<uint64_t>(size.QuadPart)));
}

AppendFile::~AppendFile() { CloseHandle(HandleOf(handle_)); }

absl::Status AppendFile::Append(absl::string_view bytes) {
  while (!bytes.empty()) {
    DWORD written;
    if (!::WriteFile(
            HandleOf(handle_), bytes.data(),
            static_cast<DWORD>(std::min<size_t>(bytes.size(), kMaxWrite)),
            &written, nullptr)) {
      return LastWin32Error("write", path_);
    }
    position_ += written;
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status AppendFile::Rewind() {
  if (!SetFilePointerEx(HandleOf(handle_), {}, nullptr, FILE_BEGIN)) {
    return LastWin32Error("rewind", path_);
  }
  position_ = 0;
  return absl::OkStatus();
}

absl::Status AppendFile::Sync() {
  return FlushFileBuffers(HandleOf(handle_)) ? absl::OkStatus()
                                             : LastWin32Error("sync", path_);
}

// The file cannot be opened twice.
absl::StatusOr<std::unique_ptr<FileLock>> FileLock::Acquire(
    const std::string& path) {
  const HANDLE file =
      CreateFileW(LongPath(path).c_str(), GENERIC_READ | GENERIC_WRITE, 0,
                  nullptr, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file != INVALID_HANDLE_VALUE) {
    return std::unique_ptr<FileLock>(
        new FileLock(reinterpret_cast<intptr_t>(file)));
  }
  if (GetLastError() == ERROR_SHARING_VIOLATION) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is in use by another process"));
  }
  return LastWin32Error("open", path);
}

FileLock::~FileLock() { CloseHandle(HandleOf(handle_)); }

}  // namespace fleetperf
