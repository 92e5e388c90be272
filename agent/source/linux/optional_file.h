// A file of /proc or /sys that a machine may lack.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_OPTIONAL_FILE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_OPTIONAL_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "agent/source/linux/proc_file.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// After a failed read, the file is left alone for ten seconds, so that files
// that do not exist cost nothing. Thread-compatible.
class OptionalFile {
 public:
  explicit OptionalFile(std::string path,
                        ProcFile::Kind kind = ProcFile::Kind::kSmall)
      : file_(std::move(path), kind) {}

  // As ProcFile::Read.
  std::optional<absl::string_view> Read(const perflib::Clocks& clocks,
                                        std::string* buffer) {
    if (clocks.perf_time_stamp < retry_at_) return std::nullopt;
    const auto text = file_.Read(buffer);
    if (text.ok()) return *text;
    retry_at_ = clocks.perf_time_stamp + kRetryInterval;
    return std::nullopt;
  }

  void Close() { file_.Close(); }
  bool is_open() const { return file_.is_open(); }

 private:
  static constexpr int64_t kRetryInterval = 10 * perflib::kLinuxPerfFreq;

  ProcFile file_;
  int64_t retry_at_ = INT64_MIN;  // PerfTimeStamp
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_OPTIONAL_FILE_H_
