// Files that are read or replaced as a whole.

#ifndef FLEETPERF_BASE_FILES_H_
#define FLEETPERF_BASE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

// Errors name the file and, where it is one, the missing right.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// So many bytes of it. DataLoss if it ends before.
absl::StatusOr<std::string> ReadFileRange(const std::string& path,
                                          uint64_t offset, size_t size);

enum class FileAccess {
  kEveryone,   // others may read
  kOwnerOnly,  // keys
};

// Replaces or creates the file in one step: a reader, or a crash, sees the old
// contents or the new ones.
absl::Status WriteFile(const std::string& path, absl::string_view contents,
                       FileAccess access = FileAccess::kEveryone);

bool FileExists(const std::string& path);

// Makes the directory and its parents; fine if it exists.
absl::Status MakeDirectories(const std::string& path);

// `path`, or if that is relative, `path` inside `directory`.
std::string ResolvePath(absl::string_view directory, absl::string_view path);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_FILES_H_
