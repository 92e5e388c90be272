// Captures the lines that a test logs.

#ifndef FLEETPERF_TESTS_SUPPORT_LOG_CAPTURE_H_
#define FLEETPERF_TESTS_SUPPORT_LOG_CAPTURE_H_

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace fleetperf::testing {

// Redirects the default logger, while the object exists, to a string of
// "level message" lines.
class LogCapture {
 public:
  LogCapture() : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_));
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(logger);
  }
  ~LogCapture() { spdlog::set_default_logger(before_); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // Returns the captured lines. Must not be called while another thread logs.
  std::vector<std::string> Lines() const {
    return absl::StrSplit(log_.str(), absl::ByAnyChar("\r\n"),
                          absl::SkipEmpty());
  }

 private:
  const std::shared_ptr<spdlog::logger> before_;
  std::ostringstream log_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_LOG_CAPTURE_H_
