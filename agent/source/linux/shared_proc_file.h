// A file of /proc that several countersets read in the same tick.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_SHARED_PROC_FILE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_SHARED_PROC_FILE_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/proc_file.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// Thread-compatible.
class SharedProcFile {
 public:
  explicit SharedProcFile(std::string path) : file_(std::move(path)) {}

  // Returns the contents at the time of `clocks`, which are those of the tick.
  // Only the first call of a tick reads the file. The view is valid until the
  // next tick's call.
  absl::StatusOr<absl::string_view> Read(const perflib::Clocks& clocks) {
    if (clocks != read_at_) {
      text_ = file_.Read(&buffer_);
      read_at_ = clocks;
    }
    return text_;
  }

 private:
  ProcFile file_;
  std::string buffer_;
  perflib::Clocks read_at_;
  absl::StatusOr<absl::string_view> text_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SHARED_PROC_FILE_H_
