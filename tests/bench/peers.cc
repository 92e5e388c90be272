#include "tests/bench/peers.h"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "tests/bench/peer_executable.h"
#include "tests/bench/peer_server.h"

namespace fleetperf::bench {
namespace {

constexpr char kVictoriaMetrics[] = "victoria-metrics";
constexpr char kPrometheus[] = "prometheus";

uint64_t SizeOf(const std::filesystem::path& path) {
  std::error_code error;
  const uint64_t file = std::filesystem::file_size(path, error);
  if (!error) return file;
  uint64_t size = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    size += SizeOf(entry.path());
  }
  return size;
}

class VictoriaMetrics : public PeerServer {
 public:
  // VictoriaMetrics's rate() includes the last sample before the range.
  VictoriaMetrics() : PeerServer("VictoriaMetrics", absl::ZeroDuration()) {}

  absl::Status Start(const std::string& executable) {
    return Run({executable, absl::StrCat("-httpListenAddr=127.0.0.1:", port()),
                absl::StrCat("-storageDataPath=", File("data")),
                "-retentionPeriod=100y", "-search.maxQueryDuration=10m"},
               "/health");
  }

  absl::Status Settle() override {
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

  absl::StatusOr<DiskUse> MeasureDisk() override {
    return DiskUse{.data = SizeOf(File("data/data")),
                   .index = SizeOf(File("data/indexdb"))};
  }

 private:
  // Returns the sum of a metric over all labels.
  absl::StatusOr<double> Metric(absl::string_view name) {
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
};

class Prometheus : public PeerServer {
 public:
  // Prometheus's rate() uses only samples in the range. The range needs one
  // more sample for as many differences as a step has samples.
  Prometheus() : PeerServer("Prometheus", absl::Seconds(1)) {}

  absl::Status Start(const std::string& executable) {
    RETURN_IF_ERROR(WriteFile(File("prometheus.yml"), "global: {}\n"));
    return Run({executable, "--config.file=" + File("prometheus.yml"),
                "--storage.tsdb.path=" + File("data"),
                absl::StrCat("--web.listen-address=127.0.0.1:", port()),
                "--web.enable-remote-write-receiver", "--web.enable-admin-api",
                "--storage.tsdb.retention.time=100y", "--query.timeout=10m",
                "--query.max-samples=1000000000", "--log.level=warn"},
               "/-/ready");
  }

  // No-op: Prometheus keeps two hours in memory and its log before it writes
  // them as a block.
  absl::Status Settle() override { return absl::OkStatus(); }

  // Measures a snapshot, which has the block that Prometheus would write.
  absl::StatusOr<DiskUse> MeasureDisk() override {
    ASSIGN_OR_RETURN(const std::string answer,
                     client().Post("/api/v1/admin/tsdb/snapshot", {}, ""));
    const auto snapshot =
        nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
    DiskUse use;
    const std::string blocks = absl::StrCat(
        File("data/snapshots/"), snapshot["data"]["name"].get<std::string>());
    std::error_code ignored;
    for (const auto& block :
         std::filesystem::directory_iterator(blocks, ignored)) {
      use.data += SizeOf(block.path() / "chunks");
      use.index += SizeOf(block.path() / "index");
    }
    return use;
  }
};

template <typename Peer>
absl::StatusOr<std::unique_ptr<Server>> Start(const std::string& package) {
  ASSIGN_OR_RETURN(const std::string executable, PeerExecutable(package));
  auto peer = std::make_unique<Peer>();
  RETURN_IF_ERROR(peer->Start(executable));
  return peer;
}

}  // namespace

absl::Status CheckPeers() {
  RETURN_IF_ERROR(PeerExecutable(kVictoriaMetrics).status());
  return PeerExecutable(kPrometheus).status();
}

absl::StatusOr<std::unique_ptr<Server>> StartVictoriaMetrics() {
  return Start<VictoriaMetrics>(kVictoriaMetrics);
}

absl::StatusOr<std::unique_ptr<Server>> StartPrometheus() {
  return Start<Prometheus>(kPrometheus);
}

}  // namespace fleetperf::bench
