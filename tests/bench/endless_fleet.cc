#include "tests/bench/endless_fleet.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "tests/bench/agent_stream.h"
#include "tests/bench/fleet_workload.h"
#include "tests/bench/report.h"
#include "tests/bench/workload_agent.h"

namespace fleetperf::bench {
namespace {

constexpr int kTicksPerMessage = 10;

// Agents that connect at a time. With more concurrent TLS handshakes, some
// would exceed gRPC's timeout.
constexpr size_t kGroupSize = 100;

}  // namespace

struct EndlessFleet::Agent {
  std::string name;
  uint64_t epoch = 0;
  uint64_t acknowledged = 0;  // sequence
  std::unique_ptr<AgentStream> stream;
};

struct EndlessFleet::Machine {
  std::optional<WorkloadAgent> workload;
  uint64_t sequence = 0;  // of the last message
  // The due times of messages, by the machine's clock. The index is the
  // sequence minus 1. Guarded by the fleet's mutex.
  std::vector<absl::Time> due;
  std::vector<std::unique_ptr<Agent>> agents;

  // Sends a message of all agents.
  void Send(const v1::BatchContent& content) {
    v1::Batch batch = PackBatch(content, /*epoch=*/0, sequence);
    for (const auto& agent : agents) {
      v1::CollectRequest request;
      batch.set_epoch(agent->epoch);
      *request.mutable_batch() = batch;
      agent->stream->Send(std::move(request));
    }
  }

  // Same, with definitions, which name the agent's machine.
  void SendFirst(v1::BatchContent content) {
    for (const auto& agent : agents) {
      content.mutable_definitions()->mutable_machines(0)->set_name(agent->name);
      v1::CollectRequest request;
      *request.mutable_batch() = PackBatch(content, agent->epoch, sequence);
      agent->stream->Send(std::move(request));
    }
  }

  absl::Status AwaitAcknowledged() const {
    for (const auto& agent : agents) {
      RETURN_IF_ERROR(agent->stream->AwaitAcknowledged());
    }
    return absl::OkStatus();
  }
};

EndlessFleet::EndlessFleet(const FleetSize& size, MakeWorkload make)
    : size_(size), make_(std::move(make)) {}

EndlessFleet::~EndlessFleet() = default;

absl::StatusOr<std::unique_ptr<EndlessFleet>> EndlessFleet::Connect(
    const FleetSize& size, const FleetperfProcess& server) {
  const auto workload = std::make_shared<const FleetWorkload>(size.series);
  return Connect(
      size,
      [workload](size_t machines, absl::Time start) {
        return workload->MakeWorkload(machines, /*ticks=*/0, start);
      },
      server);
}

absl::StatusOr<std::unique_ptr<EndlessFleet>> EndlessFleet::Connect(
    const FleetSize& size, MakeWorkload make, const FleetperfProcess& server) {
  std::unique_ptr<EndlessFleet> fleet(new EndlessFleet(size, std::move(make)));
  RETURN_IF_ERROR(fleet->ConnectAgents(server));
  RETURN_IF_ERROR(fleet->SendFirst());
  return fleet;
}

absl::Status EndlessFleet::ConnectAgents(const FleetperfProcess& server) {
  std::vector<AgentStream*> connecting;
  const auto await = [&]() -> absl::Status {
    for (AgentStream* stream : std::exchange(connecting, {})) {
      RETURN_IF_ERROR(stream->AwaitWelcome());
    }
    return absl::OkStatus();
  };
  for (size_t i = 0; i < size_.agents; ++i) {
    if (i % size_.twins == 0) machines_.push_back(std::make_unique<Machine>());
    Machine* machine = machines_.back().get();
    Agent* agent =
        machine->agents.emplace_back(std::make_unique<Agent>()).get();
    agent->name = absl::StrCat(size_.names, i);
    agent->epoch = i + 1;
    ASSIGN_OR_RETURN(const TlsFiles tls,
                     server.Issue(Role::kAgent, {agent->name}));
    ASSIGN_OR_RETURN(const auto credentials, ClientCredentials(tls));
    agent->stream = std::make_unique<AgentStream>(
        server.address(), credentials, agent->name, agent->epoch,
        [this, machine, agent](uint64_t sequence) {
          OnAcknowledged(*machine, sequence, agent);
        });
    connecting.push_back(agent->stream.get());
    if (connecting.size() == kGroupSize) RETURN_IF_ERROR(await());
    if ((i + 1) % 1000 == 0) Progress(absl::StrCat(i + 1, " connections"));
  }
  return await();
}

absl::Status EndlessFleet::SendFirst() {
  const Workload workload = make_(machines_.size(), absl::Now());
  for (size_t i = 0; i < machines_.size(); ++i) {
    Machine& machine = *machines_[i];
    machine.workload.emplace(workload.make_machine(i));
    // The number of ticks differs, so that later messages are evenly spread.
    const v1::BatchContent content =
        machine.workload->NextBatch(1 + static_cast<int>(i) % kTicksPerMessage);
    machine.sequence = 1;
    machine.due.push_back(machine.workload->last_tick());
    machine.SendFirst(content);
    if (i % kGroupSize != 0) continue;
    RETURN_IF_ERROR(machine.AwaitAcknowledged());
  }
  RETURN_IF_ERROR(AwaitAcknowledged());
  std::sort(machines_.begin(), machines_.end(),
            [](const auto& a, const auto& b) {
              return a->due.back() < b->due.back();
            });
  behind_ = absl::Now() -
            (machines_.front()->due.back() + absl::Seconds(kTicksPerMessage));
  absl::MutexLock lock(&mutex_);
  is_paced_ = true;
  return absl::OkStatus();
}

void EndlessFleet::SendUntil(absl::Time end) {
  // All machines have the same period, so that their order never changes.
  for (; absl::Now() < end; next_ = (next_ + 1) % machines_.size()) {
    Machine& machine = *machines_[next_];
    const uint64_t before = machine.workload->samples();
    const v1::BatchContent content =
        machine.workload->NextBatch(kTicksPerMessage);
    samples_ += (machine.workload->samples() - before) * machine.agents.size();
    const absl::Time due = machine.workload->last_tick();
    ++machine.sequence;
    {
      absl::MutexLock lock(&mutex_);
      machine.due.push_back(due);
    }
    absl::SleepFor(due + behind_ - absl::Now());
    machine.Send(content);
  }
}

absl::Status EndlessFleet::CheckStreams() const {
  for (const auto& machine : machines_) {
    for (const auto& agent : machine->agents) {
      const absl::Status status = agent->stream->Check();
      if (status.ok()) continue;
      return absl::Status(status.code(),
                          absl::StrCat(agent->name, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

uint64_t EndlessFleet::reconnects() const {
  uint64_t reconnects = 0;
  for (const auto& machine : machines_) {
    for (const auto& agent : machine->agents) {
      reconnects += agent->stream->reconnects();
    }
  }
  return reconnects;
}

absl::Status EndlessFleet::AwaitAcknowledged() {
  for (const auto& machine : machines_) {
    RETURN_IF_ERROR(machine->AwaitAcknowledged());
  }
  return absl::OkStatus();
}

std::vector<absl::Duration> EndlessFleet::TakeDelays() {
  std::vector<absl::Duration> delays;
  {
    absl::MutexLock lock(&mutex_);
    delays = std::exchange(delays_, {});
  }
  std::sort(delays.begin(), delays.end());
  return delays;
}

void EndlessFleet::OnAcknowledged(const Machine& machine, uint64_t sequence,
                                  Agent* agent) {
  const absl::Time now = absl::Now();
  absl::MutexLock lock(&mutex_);
  for (; agent->acknowledged < sequence; ++agent->acknowledged) {
    if (!is_paced_) continue;
    delays_.push_back(now - (machine.due[agent->acknowledged] + behind_));
  }
}

}  // namespace fleetperf::bench
