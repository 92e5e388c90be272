// Append-only files, and file locks against other processes.

#ifndef FLEETPERF_BASE_OS_APPEND_FILE_H_
#define FLEETPERF_BASE_OS_APPEND_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

// A file opened for appending. Other processes can read it meanwhile. Errors
// name the file; ResourceExhausted means a full disk. Thread-compatible.
class AppendFile {
 public:
  // Opens the file at its end, or creates it.
  static absl::StatusOr<std::unique_ptr<AppendFile>> Open(
      const std::string& path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Appends `bytes`, in one write if the system accepts that. After an error,
  // any part of `bytes` may be in the file.
  absl::Status Append(absl::string_view bytes);
  // Makes later calls of Append overwrite the file from its start.
  absl::Status Rewind();
  // Returns when the contents survive a power cut.
  absl::Status Sync();

  // The offset of the next byte.
  uint64_t position() const { return position_; }

 private:
  AppendFile(const std::string& path, intptr_t handle, uint64_t position)
      : path_(path), handle_(handle), position_(position) {}

  const std::string path_;
  const intptr_t handle_;
  uint64_t position_;
};

// An exclusive lock, held until the object or the process ends.
class FileLock {
 public:
  // Creates the file if needed. Returns FailedPrecondition if the lock is held,
  // even by this process.
  static absl::StatusOr<std::unique_ptr<FileLock>> Acquire(
      const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(intptr_t handle) : handle_(handle) {}

  const intptr_t handle_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_APPEND_FILE_H_
