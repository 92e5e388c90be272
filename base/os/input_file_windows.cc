#include <windows.h>

#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/os/input_file.h"
#include "base/os/os_error.h"
#include "base/os/wide_windows.h"

namespace fleetperf {
namespace {

absl::Status CannotRead(const std::string& path) {
  return StatusFromWin32(GetLastError(), absl::StrCat("cannot read ", path));
}

// A file may grow while it is read.
absl::StatusOr<std::string> ReadBounded(HANDLE file, const std::string& path) {
  std::string contents;
  char buffer[16384];
  for (;;) {
    DWORD size;
    if (!::ReadFile(file, buffer, sizeof buffer, &size, nullptr)) {
      return CannotRead(path);
    }
    if (size == 0) return contents;
    contents.append(buffer, size);
    if (contents.size() > kMaxInputFileBytes)
      return internal::InputTooLarge(path);
  }
}

}  // namespace

absl::StatusOr<std::string> internal::ReadRegularFile(const std::string& path,
                                                      InputSecrecy) {
  const HANDLE file =
      CreateFileW(LongPath(path).c_str(), GENERIC_READ,
                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                  nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return CannotRead(path);
  const absl::Cleanup close_file = [file] { CloseHandle(file); };
  if (GetFileType(file) != FILE_TYPE_DISK) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is a pipe or a device; name a regular file"));
  }
  return ReadBounded(file, path);
}

}  // namespace fleetperf
