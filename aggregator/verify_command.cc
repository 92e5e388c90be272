#include "aggregator/verify_command.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "aggregator/config.h"
#include "aggregator/store/backup/repair.h"
#include "aggregator/store/backup/verify.h"
#include "base/progress.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

absl::StatusOr<StoreReport> Verify(const std::string& directory) {
  Progress progress("verifying");
  return VerifyStore(directory,
                     [&](double done) { progress.Update(ProgressBar(done)); });
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

}  // namespace fleetperf::aggregator
