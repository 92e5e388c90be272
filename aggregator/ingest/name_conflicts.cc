#include "aggregator/ingest/name_conflicts.h"

#include <utility>

namespace fleetperf::aggregator {

absl::string_view HostOf(absl::string_view address) {
  return address.substr(0, address.rfind(':'));
}

void NameConflicts::NoteRefusal(const std::string& agent,
                                const std::string& address,
                                absl::Duration now) {
  Sweep(now);
  others_[agent] = {.address = address, .time = now};
}

bool NameConflicts::NoteReplacement(const std::string& agent,
                                    const std::string& from,
                                    const std::string& to, absl::Duration now) {
  if (HostOf(from) == HostOf(to)) return false;
  Sweep(now);
  const Replacement replacement = {.from = std::string(HostOf(from)),
                                   .to = std::string(HostOf(to)),
                                   .time = now};
  const auto [last, is_first] = replacements_.emplace(agent, replacement);
  if (is_first) return false;
  const bool is_back = last->second.from == replacement.to &&
                       last->second.to == replacement.from &&
                       IsRecent(last->second.time, now);
  last->second = replacement;
  if (is_back) others_[agent] = {.address = from, .time = now};
  return is_back;
}

std::string NameConflicts::AddressOf(const std::string& agent,
                                     absl::Duration now) const {
  const auto found = others_.find(agent);
  if (found == others_.end() || !IsRecent(found->second.time, now)) return "";
  return found->second.address;
}

std::vector<std::string> NameConflicts::Agents(absl::Duration now) const {
  std::vector<std::string> agents;
  for (const auto& [agent, other] : others_) {
    if (IsRecent(other.time, now)) agents.push_back(agent);
  }
  return agents;
}

void NameConflicts::Sweep(absl::Duration now) {
  if (now < next_sweep_) return;
  next_sweep_ = now + kShown;
  const auto is_old = [&](const auto& entry) {
    return !IsRecent(entry.second.time, now);
  };
  std::erase_if(others_, is_old);
  std::erase_if(replacements_, is_old);
}

}  // namespace fleetperf::aggregator
