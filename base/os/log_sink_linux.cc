#include <spdlog/sinks/stdout_color_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/os/log_sink.h"
#include "base/progress.h"

namespace fleetperf {

spdlog::sink_ptr MakeDefaultLogSink(const std::string&) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool plain =
      TerminalIsDumb() || (no_color != nullptr && *no_color != '\0');
  return std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
      plain ? spdlog::color_mode::never : spdlog::color_mode::automatic);
}

bool StderrIsJournal() {
  // "DEVICE:INODE" of the stream that systemd made. A redirected standard error
  // is another file.
  const char* journal = std::getenv("JOURNAL_STREAM");
  struct stat status;
  if (journal == nullptr || fstat(STDERR_FILENO, &status) != 0) return false;
  return absl::StrCat(status.st_dev, ":", status.st_ino) == journal;
}

absl::StatusOr<spdlog::filename_t> LogFileName(const std::string& path) {
  return path;
}

}  // namespace fleetperf
