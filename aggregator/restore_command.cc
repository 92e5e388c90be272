#include "aggregator/restore_command.h"

#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "aggregator/config.h"
#include "aggregator/store/backup/backup.h"
#include "base/progress.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

absl::Status RestoreCommand(const std::string& config_path,
                            const std::string& backup) {
  ASSIGN_OR_RETURN(const Config config, LoadConfig(config_path));
  const bool shows_progress = isatty(STDERR_FILENO) != 0 && !TerminalIsDumb();
  uint64_t restored = 0;
  RETURN_IF_ERROR(RestoreStore(
      backup, config.store_directory, [&](uint64_t bytes, uint64_t total) {
        restored = bytes;
        if (shows_progress) {
          std::fprintf(stderr, "\r%3.0f %% ", 100.0 * bytes / total);
        }
        return absl::OkStatus();
      }));
  if (shows_progress) std::fprintf(stderr, "\r");
  std::printf("%s", absl::StrCat("restored ", config.store_directory, ", ",
                                 restored, " bytes\n")
                        .c_str());
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
