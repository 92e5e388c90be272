// Files that are written from front to back, and locks that keep other
// processes out.

#ifndef FLEETPERF_BASE_APPEND_FILE_H_
#define FLEETPERF_BASE_APPEND_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

// An open file. Others can read it meanwhile. Errors name the file;
// ResourceExhausted if the disk is full. Not thread-safe.
class AppendFile {
 public:
  // Opens the file at its end, or creates it.
  static absl::StatusOr<std::unique_ptr<AppendFile>> Open(
      const std::string& path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // In one write, if the system takes it as one. After an error, any part of
  // `bytes` may be in the file.
  absl::Status Append(absl::string_view bytes);
  // What is appended from now on overwrites the file from its front.
  absl::Status Rewind();
  // Returns when the contents survive a power cut.
  absl::Status Sync();

  // Where the next bytes go.
  uint64_t position() const { return position_; }

 private:
  AppendFile(const std::string& path, intptr_t handle, uint64_t position)
      : path_(path), handle_(handle), position_(position) {}

  const std::string path_;
  const intptr_t handle_;
  uint64_t position_;
};

// Held as long as the object lives; a process that ends releases it.
class FileLock {
 public:
  // Creates the file if need be. FailedPrecondition if the lock is held, also
  // by this process.
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

#endif  // FLEETPERF_BASE_APPEND_FILE_H_
