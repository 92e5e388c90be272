// fleetperf as a Server of a comparison.

#ifndef FLEETPERF_TESTS_BENCH_FLEETPERF_SERVER_H_
#define FLEETPERF_TESTS_BENCH_FLEETPERF_SERVER_H_

#include <memory>
#include <optional>
#include <string>

#include "tests/bench/fleetperf_load.h"
#include "tests/bench/fleetperf_process.h"
#include "tests/bench/fleetperf_queries.h"
#include "tests/bench/server.h"

namespace fleetperf::bench {

class FleetperfServer : public Server {
 public:
  // Connects to a process that has been started.
  static absl::StatusOr<std::unique_ptr<FleetperfServer>> Connect(
      std::unique_ptr<FleetperfProcess> process);

  const std::string& name() const override { return name_; }
  pid_t pid() const override { return process_->pid(); }

  absl::Status Prepare(const Workload& workload,
                       int ticks_per_message) override;
  uint64_t prepared_samples() const override { return load_->samples(); }
  absl::Status Send() override { return load_->SendByTurns(); }
  absl::Status Settle() override;

  absl::StatusOr<uint64_t> CountSamples() override;
  absl::StatusOr<Answer> Ask(Question question, const Scope& scope) override {
    return queries_->Ask(question, scope);
  }

  absl::StatusOr<std::optional<absl::Duration>> AskByCommand(
      Question question, const Scope& scope) override;

  absl::StatusOr<DiskUse> MeasureDisk() override;

 private:
  FleetperfServer() = default;

  const std::string name_ = "fleetperf";
  Workload workload_;
  std::unique_ptr<FleetperfProcess> process_;
  std::unique_ptr<FleetperfQueries> queries_;
  std::unique_ptr<FleetperfLoad> load_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEETPERF_SERVER_H_
