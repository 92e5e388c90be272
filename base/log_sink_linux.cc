#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>

#include "base/log_sink.h"
#include "base/progress.h"

namespace fleetperf {

spdlog::sink_ptr MakeDefaultLogSink(const std::string&) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool plain =
      TerminalIsDumb() || (no_color != nullptr && *no_color != '\0');
  return std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
      plain ? spdlog::color_mode::never : spdlog::color_mode::automatic);
}

absl::StatusOr<spdlog::filename_t> LogFileName(const std::string& path) {
  return path;
}

}  // namespace fleetperf
