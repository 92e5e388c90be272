// Reads and writes whole files.

#ifndef FLEETPERF_BASE_OS_FILES_H_
#define FLEETPERF_BASE_OS_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

// Error messages name the file and, for a denied access, the missing right.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Reads `size` bytes at `offset`. Returns DataLoss if the file ends earlier.
absl::StatusOr<std::string> ReadFileRange(const std::string& path,
                                          uint64_t offset, size_t size);

enum class FileAccess {
  kEveryone,   // others may read, unless KeepFilesPrivate (os.h) was called
  kOwnerOnly,  // keys
  kPublic,     // certificates: others may read, whatever the umask
};

// Creates or replaces the file atomically: readers, and recovery after a crash,
// see either the old or the new contents.
absl::Status WriteFile(const std::string& path, absl::string_view contents,
                       FileAccess access = FileAccess::kEveryone);

bool FileExists(const std::string& path);

// Removes the file. A no-op if it does not exist.
absl::Status RemoveFile(const std::string& path);

// Renames the file, in place of a file that has the new name.
absl::Status RenameFile(const std::string& from, const std::string& to);

// Cuts the file, which must exist, to its first `size` bytes, and frees the
// rest.
absl::Status TruncateFile(const std::string& path, uint64_t size);

struct DirectoryEntry {
  std::string name;
  uint64_t size = 0;  // bytes; of directories unspecified
};

// Returns the files and directories in the directory, in any order.
absl::StatusOr<std::vector<DirectoryEntry>> ListDirectory(
    const std::string& path);

// Creates the directory and its parents. A no-op if it exists.
absl::Status MakeDirectories(const std::string& path);

// Returns `path` if it is absolute, else `path` inside `directory`.
std::string ResolvePath(absl::string_view directory, absl::string_view path);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_FILES_H_
