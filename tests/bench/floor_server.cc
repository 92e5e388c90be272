#include "tests/bench/floor_server.h"

#include "base/status_macros.h"

namespace fleetperf::bench {

absl::StatusOr<std::unique_ptr<Server>> FloorServer::Start() {
  ASSIGN_OR_RETURN(auto process, FleetperfProcess::MakeFloor());
  RETURN_IF_ERROR(process->Start());
  return std::unique_ptr<Server>(new FloorServer(std::move(process)));
}

absl::Status FloorServer::Prepare(const Workload& workload,
                                  int ticks_per_message) {
  ASSIGN_OR_RETURN(load_, FleetperfLoad::Connect(workload, *process_));
  load_->Prepare(workload.ticks, ticks_per_message);
  return absl::OkStatus();
}

absl::StatusOr<Answer> FloorServer::Ask(Question, const Scope&) {
  return absl::UnimplementedError("collect_floor stores no samples");
}

}  // namespace fleetperf::bench
