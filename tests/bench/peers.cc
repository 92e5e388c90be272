#include "tests/bench/peers.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "tests/bench/directory_size.h"
#include "tests/bench/peer_executable.h"
#include "tests/bench/peer_server.h"
#include "tests/bench/victoria_metrics.h"

namespace fleetperf::bench {
namespace {

constexpr char kPrometheus[] = "prometheus";

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

}  // namespace

absl::Status CheckPeers() {
  RETURN_IF_ERROR(PeerExecutable(VictoriaMetrics::kPackage).status());
  return PeerExecutable(kPrometheus).status();
}

absl::StatusOr<std::unique_ptr<Server>> StartVictoriaMetrics() {
  return VictoriaMetrics::Start();
}

absl::StatusOr<std::unique_ptr<Server>> StartPrometheus() {
  ASSIGN_OR_RETURN(const std::string executable, PeerExecutable(kPrometheus));
  auto server = std::make_unique<Prometheus>();
  RETURN_IF_ERROR(server->Start(executable));
  return server;
}

}  // namespace fleetperf::bench
