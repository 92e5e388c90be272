#include "tests/bench/fleetperf_server.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/rocksdb_size.h"

namespace fleetperf::bench {
namespace {

// The index consists of names, numbers and times of receipt. All other families
// are data.
DiskUse ToDiskUse(const std::map<std::string, uint64_t>& families) {
  DiskUse use;
  for (const auto& [family, bytes] : families) {
    const bool is_index = family == "default" || family == "times";
    (is_index ? use.index : use.data) += bytes;
  }
  return use;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FleetperfServer>> FleetperfServer::Connect(
    std::unique_ptr<FleetperfProcess> process) {
  std::unique_ptr<FleetperfServer> server(new FleetperfServer);
  server->process_ = std::move(process);
  ASSIGN_OR_RETURN(server->queries_,
                   FleetperfQueries::Connect(server->process_->address(),
                                             server->process_->reader()));
  return server;
}

absl::Status FleetperfServer::Prepare(const Workload& workload,
                                      int ticks_per_message) {
  workload_ = workload;
  ASSIGN_OR_RETURN(load_, FleetperfLoad::Connect(workload, *process_));
  load_->Prepare(workload.ticks, ticks_per_message);
  return absl::OkStatus();
}

absl::Status FleetperfServer::Settle() {
  RETURN_IF_ERROR(load_->SendNextHours());
  AwaitQuiet(pid(), kQuiet, workload_.machines);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> FleetperfServer::CountSamples() {
  uint64_t samples = 0;
  for (size_t i = 0; i < workload_.machines; ++i) {
    const auto machine = workload_.make_machine(i);
    ASSIGN_OR_RETURN(
        const uint64_t its,
        queries_->CountSamples(machine->name(), machine->countersets(),
                               workload_.start, workload_.end()));
    samples += its;
  }
  return samples;
}

absl::StatusOr<std::optional<absl::Duration>> FleetperfServer::AskByCommand(
    Question question, const Scope& scope) {
  const absl::Time begin = absl::Now();
  RETURN_IF_ERROR(process_->RunFleetperf(CommandLineOf(question, scope)));
  return absl::Now() - begin;
}

absl::StatusOr<DiskUse> FleetperfServer::MeasureDisk() {
  load_.reset();
  RETURN_IF_ERROR(process_->Stop());
  ASSIGN_OR_RETURN(const RocksDbSize size,
                   MeasureRocksDb(process_->store_directory()));
  const DiskUse before = ToDiskUse(size.before_compaction);
  DiskUse use = ToDiskUse(size.compacted);
  use.before_compaction = before.data + before.index;
  return use;
}

}  // namespace fleetperf::bench
