#include "aggregator/repair_command.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "aggregator/config.h"
#include "aggregator/store/backup/repair.h"
#include "aggregator/store/store.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

absl::StatusOr<RepairReport> Repair(const std::string& directory) {
  Progress progress("checking");
  return RepairStore(directory, &Clock::Real(), [&](uint64_t chunks) {
    progress.Update(absl::StrCat(chunks, " chunks"));
  });
}

}  // namespace

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

}  // namespace fleetperf::aggregator
