#include <windows.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/win_eventlog_sink.h>

#include <filesystem>
#include <string>
#include <type_traits>

#include "base/os/files.h"
#include "base/os/log_sink.h"
#include "base/os/native_path.h"
#include "base/os/wide_windows.h"
#include "base/status_macros.h"

namespace fleetperf {

spdlog::sink_ptr MakeDefaultLogSink(const std::string& program) {
  const HANDLE standard_error = GetStdHandle(STD_ERROR_HANDLE);
  if (standard_error == nullptr || standard_error == INVALID_HANDLE_VALUE) {
    return std::make_shared<spdlog::sinks::win_eventlog_sink_mt>(program);
  }
  return std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
}

static_assert(std::is_same_v<spdlog::filename_t, std::wstring>,
              "spdlog must be built with SPDLOG_WCHAR_FILENAMES, as "
              "deploy/windows/library does: otherwise a log's path could be "
              "neither long nor outside the ANSI code page");

bool StderrIsJournal() { return false; }

absl::StatusOr<spdlog::filename_t> LogFileName(const std::string& path) {
  const std::filesystem::path directory = NativePath(path).parent_path();
  if (!directory.empty()) {
    RETURN_IF_ERROR(MakeDirectories(Utf8FromPath(directory)));
  }
  return LongPath(path);
}

}  // namespace fleetperf
