#include "tests/bench/fleetperf_load.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "tests/bench/agent_stream.h"
#include "tests/bench/workload_agent.h"

namespace fleetperf::bench {

struct FleetperfLoad::Agent {
  WorkloadAgent workload;
  uint64_t epoch;
  std::unique_ptr<AgentStream> stream;
  uint64_t sequence = 0;
  std::vector<v1::CollectRequest> prepared;

  void Prepare(const v1::BatchContent& content) {
    *prepared.emplace_back().mutable_batch() =
        PackBatch(content, epoch, ++sequence);
  }
};

absl::StatusOr<std::unique_ptr<FleetperfLoad>> FleetperfLoad::Connect(
    const Workload& workload, const std::string& address, const TlsFiles& tls) {
  ASSIGN_OR_RETURN(const auto credentials, ClientCredentials(tls));
  std::unique_ptr<FleetperfLoad> load(new FleetperfLoad);
  for (size_t i = 0; i < workload.machines; ++i) {
    auto agent = std::make_unique<Agent>(Agent{
        .workload = WorkloadAgent(workload.make_machine(i)), .epoch = i + 1});
    agent->stream = std::make_unique<AgentStream>(
        address, credentials, agent->workload.machine(), agent->epoch);
    load->agents_.push_back(std::move(agent));
  }
  return load;
}

FleetperfLoad::~FleetperfLoad() = default;

void FleetperfLoad::Prepare(size_t ticks, int ticks_per_message) {
  const auto most = static_cast<size_t>(ticks_per_message);
  for (const auto& agent : agents_) {
    for (size_t done = 0; done < ticks; done += most) {
      agent->Prepare(agent->workload.NextBatch(
          static_cast<int>(std::min(most, ticks - done))));
    }
  }
}

uint64_t FleetperfLoad::samples() const {
  uint64_t samples = 0;
  for (const auto& agent : agents_) samples += agent->workload.samples();
  return samples;
}

uint64_t FleetperfLoad::samples(size_t machine) const {
  return agents_[machine]->workload.samples();
}

absl::Status FleetperfLoad::Send() {
  for (const auto& agent : agents_) {
    if (!agent->prepared.empty()) {
      agent->stream->Send(std::exchange(agent->prepared, {}));
    }
  }
  for (const auto& agent : agents_) {
    RETURN_IF_ERROR(agent->stream->AwaitAcknowledged());
  }
  return absl::OkStatus();
}

absl::Status FleetperfLoad::SendNextHours() {
  for (const auto& agent : agents_) {
    for (int i = 0; i < 2; ++i) agent->Prepare(agent->workload.NextHour());
  }
  return Send();
}

}  // namespace fleetperf::bench
