// A file of /proc or /sys that is read repeatedly.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROC_FILE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROC_FILE_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// Keeps the descriptor open, so a read costs one or two system calls.
// Thread-compatible.
class ProcFile {
 public:
  enum class Kind {
    // Read until end of file.
    kWhole,
    // One line or value, which the kernel returns in a single read.
    kSmall,
  };

  // Opens the file at the first read.
  explicit ProcFile(std::string path, Kind kind = Kind::kWhole)
      : path_(std::move(path)), kind_(kind) {}
  ~ProcFile();
  ProcFile(ProcFile&& other) noexcept;
  ProcFile& operator=(ProcFile&& other) noexcept;

  // Replaces the contents of `buffer` with those of the file and returns a view
  // of them. `buffer` can be shared by many files; it keeps the size of the
  // largest. Returns NotFound if the file has vanished because its process
  // ended. After an error, the next read reopens the file.
  absl::StatusOr<absl::string_view> Read(std::string* buffer);

  // Closes the descriptor; the next read reopens the file.
  void Close();

  bool is_open() const { return fd_ >= 0; }
  int descriptor() const { return fd_; }  // -1 if it is not open
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Kind kind_;
  int fd_ = -1;
};

// For files that not every machine has: their values stay absent.
inline absl::Status OkIfNotFound(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROC_FILE_H_
