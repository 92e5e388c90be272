#include "aggregator/ingest/agent_machines.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/ingest/stream_errors.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/fleet.pb.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

// The number of recent batches whose skews are kept per machine.
constexpr size_t kSkewBatches = 8;

}  // namespace

void AgentMachines::SetAgent(const std::string& agent, absl::Duration skew) {
  agent_ = agent;
  absl::MutexLock lock(&mutex_);
  skews_[agent].push_back(skew);
}

absl::Status AgentMachines::Check(const v1::Definitions& definitions) const {
  for (const v1::MachineDefinition& machine : definitions.machines()) {
    if (!peer_.HasName(machine.name())) {
      return absl::PermissionDeniedError(
          absl::StrCat("the certificate of ", agent_,
                       " does not name machine \"", machine.name(), "\""));
    }
  }
  return absl::OkStatus();
}

void AgentMachines::RemoveForeign(v1::Definitions* definitions) const {
  absl::flat_hash_set<uint32_t> foreign;
  for (const v1::MachineDefinition& machine : definitions->machines()) {
    if (!peer_.HasName(machine.name())) foreign.insert(machine.id());
  }
  if (foreign.empty()) return;
  const auto erase = [](auto* list, const auto& is_foreign) {
    list->erase(std::remove_if(list->begin(), list->end(), is_foreign),
                list->end());
  };
  erase(definitions->mutable_machines(),
        [&](const auto& machine) { return foreign.contains(machine.id()); });
  erase(definitions->mutable_queries(),
        [&](const auto& query) { return foreign.contains(query.machine()); });
  erase(definitions->mutable_instances(), [&](const auto& instance) {
    return foreign.contains(instance.machine());
  });
}

absl::StatusOr<bool> AgentMachines::Enter(
    const std::set<std::string>& machines) {
  std::set<std::string> entered;
  {
    absl::MutexLock lock(&mutex_);
    for (const std::string& machine : machines) {
      if (skews_.try_emplace(machine).second) entered.insert(machine);
    }
  }
  for (const std::string& name : entered) {
    const absl::Status status = EnterOne(name);
    if (status.ok()) continue;
    absl::MutexLock lock(&mutex_);
    for (const std::string& machine : entered) skews_.erase(machine);
    return status;
  }
  return !entered.empty();
}

absl::Status AgentMachines::EnterOne(const std::string& name) {
  RETURN_IF_ERROR(ingest_.CheckMachineLimit(name));
  RETURN_IF_ERROR(ingest_.SetSpeaker(name, agent_));
  // A machine with its own agent has a more detailed entry, which must stay.
  // Otherwise, the entry says whose share of the store the machine uses.
  const Directory& directory = ingest_.store().directory();
  const std::string known = directory.AgentOf(name);
  if (known == name) return absl::OkStatus();
  StoredMachine stored = {.certificate = peer_.Key()};
  if (known == agent_ && directory.HolderOf(name) == stored.certificate) {
    return absl::OkStatus();
  }
  stored.machine.set_name(name);
  stored.machine.set_agent(agent_);
  return FromStore(ingest_.store().PutMachine(stored));
}

void AgentMachines::NoteSamples(const ReceivedBatch& received) {
  std::map<std::string, absl::Time> newest;
  for (const Frame& frame : received.decoded.frames) {
    if (frame.clocks->empty()) continue;
    const absl::Time time = perflib::TimeOf(frame.clocks->back());
    absl::Time& machines_newest =
        newest.try_emplace(frame.query->machine, time).first->second;
    machines_newest = std::max(machines_newest, time);
  }
  absl::MutexLock lock(&mutex_);
  for (const auto& [machine, time] : newest) {
    std::vector<absl::Duration>& skews = skews_[machine];
    if (skews.size() >= kSkewBatches) skews.erase(skews.begin());
    skews.push_back(time - received.received);
    with_samples_.insert(machine);
  }
}

void AgentMachines::AwaitSamples() {
  absl::MutexLock lock(&mutex_);
  with_samples_.clear();
}

bool AgentMachines::HasSamples(const std::string& machine) const {
  absl::MutexLock lock(&mutex_);
  return with_samples_.contains(machine);
}

absl::Duration AgentMachines::skew(const std::string& machine) const {
  absl::MutexLock lock(&mutex_);
  const auto skews = skews_.find(machine);
  if (skews == skews_.end() || skews->second.empty()) {
    return absl::ZeroDuration();
  }
  return *std::max_element(skews->second.begin(), skews->second.end());
}

bool AgentMachines::AnyOf(
    absl::FunctionRef<bool(const std::string& machine)> holds) const {
  absl::MutexLock lock(&mutex_);
  return std::any_of(skews_.begin(), skews_.end(),
                     [&](const auto& machine) { return holds(machine.first); });
}

}  // namespace fleetperf::aggregator
