// A file of /proc or /sys that is read again and again.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROC_FILE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROC_FILE_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// Keeps the descriptor open: reading costs one or two system calls. Not
// thread-safe.
class ProcFile {
 public:
  enum class Kind {
    // Read to its end.
    kWhole,
    // One line or value that the kernel returns in a single read.
    kSmall,
  };

  // Opens the file at the first read.
  explicit ProcFile(std::string path, Kind kind = Kind::kWhole)
      : path_(std::move(path)), kind_(kind) {}
  ~ProcFile();
  ProcFile(ProcFile&& other) noexcept;
  ProcFile& operator=(ProcFile&& other) noexcept;

  // Replaces the contents of `buffer` by those of the file and returns a view
  // of them. `buffer` can serve many files: it keeps the size of the largest.
  // If the file vanished (a process that ended), the error is NotFound. After
  // an error the next read opens the file again.
  absl::StatusOr<absl::string_view> Read(std::string* buffer);

  // Gives up the descriptor; the next read opens the file again.
  void Close();

  bool is_open() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Kind kind_;
  int fd_ = -1;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROC_FILE_H_
