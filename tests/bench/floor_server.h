// A Server of a comparison whose only costs are gRPC and TLS.

#ifndef FLEETPERF_TESTS_BENCH_FLOOR_SERVER_H_
#define FLEETPERF_TESTS_BENCH_FLOOR_SERVER_H_

#include <memory>
#include <string>
#include <utility>

#include "tests/bench/fleetperf_load.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/server.h"

namespace fleetperf::bench {

// Runs collect_floor.
class FloorServer : public Server {
 public:
  // Starts the process.
  static absl::StatusOr<std::unique_ptr<Server>> Start();

  const std::string& name() const override { return name_; }
  pid_t pid() const override { return process_->pid(); }

  absl::Status Prepare(const Workload& workload,
                       int ticks_per_message) override;
  uint64_t prepared_samples() const override { return load_->samples(); }
  absl::Status Send() override { return load_->Send(); }
  absl::Status Settle() override { return absl::OkStatus(); }

  // Returns the number of acknowledged samples: the server stores none.
  absl::StatusOr<uint64_t> CountSamples() override { return load_->samples(); }
  // Unimplemented.
  absl::StatusOr<Answer> Ask(Question question, const Scope& scope) override;
  absl::StatusOr<DiskUse> MeasureDisk() override { return DiskUse(); }

 private:
  explicit FloorServer(std::unique_ptr<FleetperfProcess> process)
      : process_(std::move(process)) {}

  const std::string name_ = "gRPC alone";
  const std::unique_ptr<FleetperfProcess> process_;
  std::unique_ptr<FleetperfLoad> load_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLOOR_SERVER_H_
