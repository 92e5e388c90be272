#include "aggregator/store_commands.h"

#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "aggregator/config.h"
#include "aggregator/store/backup/backup.h"
#include "aggregator/store/backup/repair.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "base/os/clock.h"
#include "base/progress.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

absl::StatusOr<StoreReport> Verify(const std::string& directory) {
  Progress progress("verifying");
  return VerifyStore(directory,
                     [&](double done) { progress.Update(ProgressBar(done)); });
}

absl::StatusOr<RepairReport> Repair(const std::string& directory) {
  Progress progress("checking");
  return RepairStore(directory, &Clock::Real(), [&](uint64_t chunks) {
    progress.Update(absl::StrCat(chunks, " chunks"));
  });
}

}  // namespace

absl::Status VerifyCommand(const std::string& config_path,
                           const std::string& backup) {
  ASSIGN_OR_RETURN(const Config config, LoadConfig(config_path));
  const std::string& directory =
      backup.empty() ? config.store_directory : backup;
  const auto verified = Verify(directory);
  if (absl::IsDataLoss(verified.status())) {
    return absl::DataLossError(
        absl::StrCat(verified.status().message(), "; ",
                     backup.empty() ? kRepairHint : "restore another backup"));
  }
  ASSIGN_OR_RETURN(const StoreReport report, verified);
  for (const std::string& damage : report.damage) {
    std::printf("%s\n", damage.c_str());
  }
  std::printf("%s", absl::StrCat(report.values, " values of ", report.machines,
                                 " machines in ", report.chunks, " chunks, ",
                                 report.batches, " batches in the log; ",
                                 report.files, " files\n")
                        .c_str());
  if (report.damage.empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(directory, " is damaged in ", report.damage.size(),
                   " places; the undamaged data can still be read"));
}

absl::Status RepairCommand(const std::string& config_path) {
  ASSIGN_OR_RETURN(const Config config, LoadConfig(config_path));
  const std::string& directory = config.store_directory;
  ASSIGN_OR_RETURN(const RepairReport report, Repair(directory));
  for (const std::string& done : report.done) {
    std::printf("%s\n", done.c_str());
  }
  for (const std::string& lost : report.lost) {
    std::printf("lost: %s\n", lost.c_str());
  }
  if (!report.aside.empty()) {
    std::printf("kept the replaced files in %s\n", report.aside.c_str());
  }
  RETURN_IF_ERROR(OpenRocksDbStore(directory).status());
  std::printf(
      "%s can be opened%s\n", directory.c_str(),
      report.done.empty() && report.lost.empty() ? "; nothing is lost" : "");
  return absl::OkStatus();
}

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
