#include "tests/bench/victoria_metrics.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "tests/bench/directory_size.h"
#include "tests/bench/peer_executable.h"

namespace fleetperf::bench {

absl::StatusOr<std::unique_ptr<VictoriaMetrics>> VictoriaMetrics::Start() {
  ASSIGN_OR_RETURN(const std::string executable, PeerExecutable(kPackage));
  std::unique_ptr<VictoriaMetrics> server(new VictoriaMetrics);
  RETURN_IF_ERROR(server->Run(
      {executable, absl::StrCat("-httpListenAddr=127.0.0.1:", server->port()),
       absl::StrCat("-storageDataPath=", server->File("data")),
       "-retentionPeriod=100y", "-search.maxQueryDuration=10m"},
      "/health"));
  return server;
}

absl::Status VictoriaMetrics::Settle() {
  RETURN_IF_ERROR(client().Get("/internal/force_flush").status());
  // A forced merge skips parts that a background merge is processing.
  for (bool is_merging = true; is_merging;) {
    absl::SleepFor(absl::Seconds(1));
    ASSIGN_OR_RETURN(const double merges, Metric("vm_active_merges"));
    is_merging = merges > 0;
  }
  RETURN_IF_ERROR(client().Get("/internal/force_merge").status());
  if (!process().WaitForError("forced merge for partition_prefix=\"\" has "
                              "been successfully finished")) {
    return absl::DeadlineExceededError(
        absl::StrCat("VictoriaMetrics did not merge: ", process().error()));
  }
  return absl::OkStatus();
}

absl::StatusOr<DiskUse> VictoriaMetrics::MeasureDisk() {
  return DiskUse{.data = SizeOf(File("data/data")),
                 .index = SizeOf(File("data/indexdb"))};
}

absl::StatusOr<double> VictoriaMetrics::Metric(absl::string_view name) {
  ASSIGN_OR_RETURN(const std::string metrics, client().Get("/metrics"));
  double sum = 0;
  for (const absl::string_view line : absl::StrSplit(metrics, '\n')) {
    double value = 0;
    if (absl::StartsWith(line, name) &&
        absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &value)) {
      sum += value;
    }
  }
  return sum;
}

}  // namespace fleetperf::bench
