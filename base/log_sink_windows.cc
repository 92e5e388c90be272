#include <windows.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/win_eventlog_sink.h>

#include "base/log_sink.h"

namespace fleetperf {

spdlog::sink_ptr MakeDefaultLogSink(const std::string& program) {
  const HANDLE standard_error = GetStdHandle(STD_ERROR_HANDLE);
  if (standard_error == nullptr || standard_error == INVALID_HANDLE_VALUE) {
    return std::make_shared<spdlog::sinks::win_eventlog_sink_mt>(program);
  }
  return std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
}

}  // namespace fleetperf
