// Logs lines. The log is spdlog's default logger, which base/logging.h sets up.

#ifndef FLEETPERF_BASE_LOG_H_
#define FLEETPERF_BASE_LOG_H_

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Logs `message` on one line; control characters are replaced. Thread-safe.
void Log(LogLevel level, absl::string_view message);

// Log a line of the parts, which are what absl::StrCat takes:
//   LogWarning("cannot read ", path, ": ", status.message());
template <typename... Parts>
void LogDebug(const Parts&... parts) {
  Log(LogLevel::kDebug, absl::StrCat(parts...));
}
template <typename... Parts>
void LogInfo(const Parts&... parts) {
  Log(LogLevel::kInfo, absl::StrCat(parts...));
}
template <typename... Parts>
void LogWarning(const Parts&... parts) {
  Log(LogLevel::kWarning, absl::StrCat(parts...));
}
template <typename... Parts>
void LogError(const Parts&... parts) {
  Log(LogLevel::kError, absl::StrCat(parts...));
}

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_LOG_H_
