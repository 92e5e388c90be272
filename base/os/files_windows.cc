#include <windows.h>
#include <sddl.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "base/os/os_error.h"
#include "base/os/wide_windows.h"

namespace fleetperf {
namespace {

// Full access for the owner, administrators and the system; nothing inherited.
constexpr wchar_t kOwnerOnly[] = L"D:P(A;;FA;;;OW)(A;;FA;;;BA)(A;;FA;;;SY)";
constexpr DWORD kMaxTransfer = 1 << 20;

absl::Status LastError(absl::string_view action, const std::string& path) {
  return StatusFromWin32(GetLastError(),
                         absl::StrCat("cannot ", action, " ", path));
}

absl::Status WriteAll(HANDLE file, absl::string_view contents,
                      const std::string& path) {
  while (!contents.empty()) {
    const DWORD size =
        static_cast<DWORD>(std::min<size_t>(contents.size(), kMaxTransfer));
    DWORD written;
    if (!::WriteFile(file, contents.data(), size, &written, nullptr)) {
      return LastError("write", path);
    }
    contents.remove_prefix(written);
  }
  return FlushFileBuffers(file) ? absl::OkStatus() : LastError("sync", path);
}

absl::Status WriteNewFile(const std::string& path, absl::string_view contents,
                          FileAccess access) {
  SECURITY_ATTRIBUTES security = {.nLength = sizeof security};
  const absl::Cleanup free_descriptor = [&security] {
    LocalFree(security.lpSecurityDescriptor);
  };
  if (access == FileAccess::kOwnerOnly &&
      !ConvertStringSecurityDescriptorToSecurityDescriptorW(
          kOwnerOnly, SDDL_REVISION_1, &security.lpSecurityDescriptor,
          nullptr)) {
    return LastError("protect", path);
  }
  const HANDLE file =
      CreateFileW(LongPath(path).c_str(), GENERIC_WRITE, 0, &security,
                  CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return LastError("create", path);
  const absl::Status status = WriteAll(file, contents, path);
  CloseHandle(file);
  return status;
}

HANDLE OpenToRead(const std::string& path) {
  return CreateFileW(LongPath(path).c_str(), GENERIC_READ,
                     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                     nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
}

bool IsDirectory(const std::wstring& path) {
  const DWORD attributes = GetFileAttributesW(path.c_str());
  return attributes != INVALID_FILE_ATTRIBUTES &&
         (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

// Makes the directory and its parents, by its long path. Returns a Win32 error.
DWORD MakeWithParents(const std::wstring& path) {
  if (IsDirectory(path)) return ERROR_SUCCESS;
  if (CreateDirectoryW(path.c_str(), nullptr)) return ERROR_SUCCESS;
  DWORD error = GetLastError();
  const size_t parent = path.rfind(L'\\');
  if (error == ERROR_PATH_NOT_FOUND && parent != std::wstring::npos &&
      MakeWithParents(path.substr(0, parent)) == ERROR_SUCCESS) {
    if (CreateDirectoryW(path.c_str(), nullptr)) return ERROR_SUCCESS;
    error = GetLastError();
  }
  return IsDirectory(path) ? ERROR_SUCCESS : error;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const HANDLE file = OpenToRead(path);
  if (file == INVALID_HANDLE_VALUE) return LastError("read", path);
  const absl::Cleanup close_file = [file] { CloseHandle(file); };
  std::string contents;
  char buffer[16384];
  for (;;) {
    DWORD size;
    if (!::ReadFile(file, buffer, sizeof buffer, &size, nullptr)) {
      return LastError("read", path);
    }
    if (size == 0) return contents;
    contents.append(buffer, size);
  }
}

absl::StatusOr<std::string> ReadFileRange(const std::string& path,
                                          uint64_t offset, size_t size) {
  const HANDLE file = OpenToRead(path);
  if (file == INVALID_HANDLE_VALUE) return LastError("read", path);
  const absl::Cleanup close_file = [file] { CloseHandle(file); };
  const LARGE_INTEGER start = {.QuadPart = static_cast<LONGLONG>(offset)};
  if (!SetFilePointerEx(file, start, nullptr, FILE_BEGIN)) {
    return LastError("read", path);
  }
  std::string contents(size, '\0');
  for (size_t done = 0; done < size;) {
    const DWORD wanted =
        static_cast<DWORD>(std::min<size_t>(size - done, kMaxTransfer));
    DWORD read;
    if (!::ReadFile(file, contents.data() + done, wanted, &read, nullptr)) {
      return LastError("read", path);
    }
    if (read == 0) return absl::DataLossError(absl::StrCat(path, " is short"));
    done += read;
  }
  return contents;
}

absl::Status WriteFile(const std::string& path, absl::string_view contents,
                       FileAccess access) {
  const std::string temporary = absl::StrCat(path, ".new");
  const std::wstring wide = LongPath(temporary);
  DeleteFileW(wide.c_str());
  absl::Status status = WriteNewFile(temporary, contents, access);
  if (status.ok() &&
      !MoveFileExW(wide.c_str(), LongPath(path).c_str(),
                   MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
    status = LastError("replace", path);
  }
  if (!status.ok()) DeleteFileW(wide.c_str());
  return status;
}

// std::filesystem could not examine files with long paths.
bool FileExists(const std::string& path) {
  return GetFileAttributesW(LongPath(path).c_str()) != INVALID_FILE_ATTRIBUTES;
}

absl::Status MakeDirectories(const std::string& path) {
  return StatusFromWin32(MakeWithParents(LongPath(path)),
                         absl::StrCat("cannot make directory ", path));
}

absl::Status RemoveFile(const std::string& path) {
  if (DeleteFileW(LongPath(path).c_str()) ||
      GetLastError() == ERROR_FILE_NOT_FOUND) {
    return absl::OkStatus();
  }
  return LastError("remove", path);
}

absl::Status RenameFile(const std::string& from, const std::string& to) {
  return MoveFileExW(LongPath(from).c_str(), LongPath(to).c_str(),
                     MOVEFILE_REPLACE_EXISTING)
             ? absl::OkStatus()
             : LastError("rename", from);
}

absl::Status TruncateFile(const std::string& path, uint64_t size) {
  const HANDLE file =
      CreateFileW(LongPath(path).c_str(), GENERIC_WRITE,
                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                  nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return LastError("truncate", path);
  const absl::Cleanup close_file = [file] { CloseHandle(file); };
  const LARGE_INTEGER end = {.QuadPart = static_cast<LONGLONG>(size)};
  return SetFilePointerEx(file, end, nullptr, FILE_BEGIN) && SetEndOfFile(file)
             ? absl::OkStatus()
             : LastError("truncate", path);
}

absl::StatusOr<std::vector<DirectoryEntry>> ListDirectory(
    const std::string& path) {
  WIN32_FIND_DATAW found;
  const HANDLE search = FindFirstFileW(LongPath(path + "/*").c_str(), &found);
  if (search == INVALID_HANDLE_VALUE) {
    // A drive has no entry ".".
    if (GetLastError() == ERROR_FILE_NOT_FOUND) {
      return std::vector<DirectoryEntry>();
    }
    return LastError("read", path);
  }
  const absl::Cleanup end_search = [search] { FindClose(search); };
  std::vector<DirectoryEntry> entries;
  do {
    const std::string name = Utf8FromWide(found.cFileName);
    if (name == "." || name == "..") continue;
    entries.push_back(
        {.name = name,
         .size = uint64_t{found.nFileSizeHigh} << 32 | found.nFileSizeLow});
  } while (FindNextFileW(search, &found));
  if (GetLastError() != ERROR_NO_MORE_FILES) return LastError("read", path);
  return entries;
}

}  // namespace fleetperf
