#include "tests/bench/fleetperf_load.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "tests/bench/agent_stream.h"
#include "tests/bench/report.h"
#include "tests/bench/workload_agent.h"

namespace fleetperf::bench {
namespace {

// Machines that connect at a time. With more concurrent TLS handshakes, some
// would exceed gRPC's timeout.
constexpr size_t kGroupSize = 100;

}  // namespace

struct FleetperfLoad::Agent {
  WorkloadAgent workload;
  uint64_t epoch = 0;
  std::unique_ptr<AgentStream> stream;
  std::vector<v1::CollectRequest> prepared;
  // The due times of messages, by the machine's clock, and the times of their
  // acknowledgments. The index is the sequence minus 1.
  std::vector<absl::Time> due;
  std::vector<absl::Time> acknowledged;

  void Prepare(const v1::BatchContent& content) {
    due.push_back(workload.last_tick());
    *prepared.emplace_back().mutable_batch() =
        PackBatch(content, epoch, due.size());
  }

  void OnAcknowledged(uint64_t sequence) {
    acknowledged.resize(sequence, absl::Now());
  }
};

absl::StatusOr<std::unique_ptr<FleetperfLoad>> FleetperfLoad::Connect(
    const Workload& workload, const FleetperfProcess& server) {
  std::unique_ptr<FleetperfLoad> load(new FleetperfLoad);
  for (size_t i = 0; i < workload.machines; ++i) {
    Agent* agent = load->agents_
                       .emplace_back(std::make_unique<Agent>(Agent{
                           .workload = WorkloadAgent(workload.make_machine(i)),
                           .epoch = i + 1}))
                       .get();
    const std::string& name = agent->workload.machine();
    ASSIGN_OR_RETURN(const TlsFiles tls, server.Issue(Role::kAgent, {name}));
    ASSIGN_OR_RETURN(const auto credentials, ClientCredentials(tls));
    agent->stream = std::make_unique<AgentStream>(
        server.address(), credentials, name, agent->epoch,
        [agent](uint64_t sequence) { agent->OnAcknowledged(sequence); });
    if ((i + 1) % kGroupSize != 0 && i + 1 < workload.machines) continue;
    for (size_t j = i / kGroupSize * kGroupSize; j <= i; ++j) {
      RETURN_IF_ERROR(load->agents_[j]->stream->AwaitWelcome());
    }
    if ((i + 1) % 1000 == 0) Progress(absl::StrCat(i + 1, " connections"));
  }
  return load;
}

FleetperfLoad::~FleetperfLoad() = default;

void FleetperfLoad::Prepare(size_t ticks, int ticks_per_message) {
  const auto max_ticks = static_cast<size_t>(ticks_per_message);
  for (const auto& agent : agents_) {
    for (size_t done = 0; done < ticks; done += max_ticks) {
      agent->Prepare(agent->workload.NextBatch(
          static_cast<int>(std::min(max_ticks, ticks - done))));
    }
  }
}

void FleetperfLoad::PrepareFirst(int ticks_per_message) {
  int ticks = 0;
  for (const auto& agent : agents_) {
    ticks = ticks % ticks_per_message + 1;
    agent->Prepare(agent->workload.NextBatch(ticks));
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

uint64_t FleetperfLoad::messages() const {
  uint64_t messages = 0;
  for (const auto& agent : agents_) messages += agent->due.size();
  return messages;
}

absl::Time FleetperfLoad::newest_tick() const {
  absl::MutexLock lock(&mutex_);
  return newest_tick_;
}

void FleetperfLoad::NoteSent(absl::Time tick) {
  absl::MutexLock lock(&mutex_);
  newest_tick_ = std::max(newest_tick_, tick);
}

absl::Status FleetperfLoad::Send() { return SendOf(0, agents_.size()); }

absl::Status FleetperfLoad::SendByTurns() {
  for (size_t i = 0; i < agents_.size(); i += kGroupSize) {
    RETURN_IF_ERROR(SendOf(i, std::min(i + kGroupSize, agents_.size())));
  }
  return absl::OkStatus();
}

absl::Status FleetperfLoad::SendOf(size_t first, size_t end) {
  for (size_t i = first; i < end; ++i) {
    for (v1::CollectRequest& message :
         std::exchange(agents_[i]->prepared, {})) {
      agents_[i]->stream->Send(std::move(message));
    }
    NoteSent(agents_[i]->due.back());
  }
  for (size_t i = first; i < end; ++i) {
    RETURN_IF_ERROR(agents_[i]->stream->AwaitAcknowledged());
  }
  return absl::OkStatus();
}

absl::StatusOr<Pace> FleetperfLoad::SendPaced() {
  struct Departure {
    absl::Time due;
    Agent* agent;
    v1::CollectRequest* message;
  };
  std::vector<Departure> timetable;
  for (const auto& agent : agents_) {
    const size_t sent = agent->due.size() - agent->prepared.size();
    for (size_t i = 0; i < agent->prepared.size(); ++i) {
      timetable.push_back(
          {agent->due[sent + i], agent.get(), &agent->prepared[i]});
    }
  }
  std::sort(
      timetable.begin(), timetable.end(),
      [](const Departure& a, const Departure& b) { return a.due < b.due; });
  Pace pace = {.behind = absl::Now() - timetable.front().due};
  for (const Departure& departure : timetable) {
    const absl::Duration early = departure.due + pace.behind - absl::Now();
    if (early > absl::ZeroDuration()) absl::SleepFor(early);
    pace.latest = std::max(pace.latest, -early);
    departure.agent->stream->Send(std::move(*departure.message));
    NoteSent(departure.due);
  }
  for (const auto& agent : agents_) {
    RETURN_IF_ERROR(agent->stream->AwaitAcknowledged());
    for (size_t i = agent->due.size() - agent->prepared.size();
         i < agent->due.size(); ++i) {
      pace.delays.push_back(agent->acknowledged[i] -
                            (agent->due[i] + pace.behind));
    }
    agent->prepared.clear();
  }
  return pace;
}

absl::Status FleetperfLoad::SendNextHours() {
  for (const auto& agent : agents_) {
    for (int i = 0; i < 2; ++i) agent->Prepare(agent->workload.NextHour());
  }
  return Send();
}

}  // namespace fleetperf::bench
