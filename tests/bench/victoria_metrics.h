// VictoriaMetrics as a Server of a comparison, and as an engine.

#ifndef FLEETPERF_TESTS_BENCH_VICTORIA_METRICS_H_
#define FLEETPERF_TESTS_BENCH_VICTORIA_METRICS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/bench/peer_server.h"

namespace fleetperf::bench {

class VictoriaMetrics : public PeerServer {
 public:
  static constexpr char kPackage[] = "victoria-metrics";

  static absl::StatusOr<std::unique_ptr<VictoriaMetrics>> Start();

  using PeerServer::client;
  using PeerServer::port;

  absl::Status Settle() override;
  absl::StatusOr<DiskUse> MeasureDisk() override;

  // Returns the sum of a metric of the server over all labels.
  absl::StatusOr<double> Metric(absl::string_view name);

 private:
  // VictoriaMetrics's rate() includes the last sample before the range.
  VictoriaMetrics() : PeerServer("VictoriaMetrics", absl::ZeroDuration()) {}
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_VICTORIA_METRICS_H_
