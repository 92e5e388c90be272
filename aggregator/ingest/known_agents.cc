#include "aggregator/ingest/known_agents.h"

#include "absl/strings/str_cat.h"

namespace fleetperf::aggregator {
namespace {

constexpr absl::Duration kAgentSweepInterval = absl::Minutes(1);

}  // namespace

void KnownAgents::Join(const std::string& agent, absl::Duration now) {
  ForgetAbsentAgents(now);
  agents_[agent].left.reset();
}

void KnownAgents::Leave(const std::string& agent, absl::Duration now) {
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return;
  found->second.left = now;
  for (const std::string& machine : found->second.machines) {
    const auto speaker = speakers_.find(machine);
    if (speaker != speakers_.end() && speaker->second == agent) {
      speakers_.erase(speaker);
    }
  }
  found->second.machines.clear();
}

absl::Status KnownAgents::SetSpeaker(const std::string& machine,
                                     const std::string& agent) {
  Agent& state = agents_[agent];
  if (state.left.has_value()) return absl::OkStatus();  // its stream has ended
  if (!state.machines.contains(machine) &&
      state.machines.size() >= limits_.max_machines_of_agent) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "agent ", agent, " sends samples of more than ",
        limits_.max_machines_of_agent, " machines (max_machines_of_agent)"));
  }
  state.machines.insert(machine);
  speakers_[machine] = agent;
  return absl::OkStatus();
}

const std::string* KnownAgents::SpeakerOf(const std::string& machine) const {
  const auto speaker = speakers_.find(machine);
  return speaker != speakers_.end() ? &speaker->second : nullptr;
}

absl::Status KnownAgents::Claim(const std::string& machine,
                                const perflib::Guid& counterset,
                                const std::string& agent) {
  const MachineCounterset claimed = {machine, counterset};
  std::string& owner = owners_[claimed];
  if (owner == agent) return absl::OkStatus();
  if (!owner.empty()) {
    Agent& former = agents_[owner];
    if (!former.left.has_value()) {
      return absl::AlreadyExistsError(
          absl::StrCat("counterset ", counterset.ToString(), " of ", machine,
                       " is already collected by agent ", owner));
    }
    former.owned.erase(claimed);
  }
  owner = agent;
  std::set<MachineCounterset>& owned = agents_[agent].owned;
  // Machines come and go: of a long list, the agent no longer collects most.
  if (owned.size() >= limits_.max_owned_countersets) {
    owners_.erase(*owned.begin());
    owned.erase(owned.begin());
  }
  owned.insert(claimed);
  return absl::OkStatus();
}

void KnownAgents::SetLostDictionary(const std::string& agent,
                                    uint32_t epoch_number, bool lost) {
  std::set<uint32_t>& lost_dictionaries = agents_[agent].lost_dictionaries;
  if (!lost) {
    lost_dictionaries.erase(epoch_number);
    return;
  }
  lost_dictionaries.insert(epoch_number);
  // Drops the oldest epochs. If the agent still holds one of them, its missing
  // definitions are detected again.
  while (lost_dictionaries.size() >
         static_cast<size_t>(limits_.max_held_epochs)) {
    lost_dictionaries.erase(lost_dictionaries.begin());
  }
}

bool KnownAgents::HasLostDictionary(const std::string& agent,
                                    uint32_t epoch_number) const {
  const auto found = agents_.find(agent);
  return found != agents_.end() &&
         found->second.lost_dictionaries.contains(epoch_number);
}

KnownAgents::Sizes KnownAgents::sizes() const {
  Sizes sizes = {.agents = agents_.size(),
                 .speakers = speakers_.size(),
                 .owned_countersets = owners_.size()};
  for (const auto& [name, agent] : agents_) {
    sizes.lost_dictionaries += agent.lost_dictionaries.size();
  }
  return sizes;
}

void KnownAgents::ForgetAbsentAgents(absl::Duration now) {
  if (now < next_sweep_) return;
  next_sweep_ = now + kAgentSweepInterval;
  const size_t before = agents_.size();
  std::erase_if(agents_, [&](const auto& named) {
    const auto& left = named.second.left;
    return left.has_value() && now - *left >= kForgottenAfter;
  });
  if (agents_.size() == before) return;
  std::erase_if(owners_, [&](const auto& owned) {
    return !agents_.contains(owned.second);
  });
}

}  // namespace fleetperf::aggregator
