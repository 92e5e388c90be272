#include "cli/merged_lists.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"

namespace fleetperf::cli {
namespace {

// Whether the first description of a machine is older than the second.
bool IsOlder(const v1::Machine& a, const v1::Machine& b) {
  const auto rank = [](const v1::Machine& machine) {
    // An expected machine without an agent has no sample.
    return std::make_tuple(machine.connected(), machine.has_newest_sample(),
                           machine.newest_sample().seconds(),
                           machine.newest_sample().nanos());
  };
  return rank(a) < rank(b);
}

// Returns the host of "192.0.2.1:1234".
absl::string_view HostOf(absl::string_view address) {
  return address.substr(0, address.rfind(':'));
}

// Whether two agents have the machine's name. Other machines' agents may both
// collect from it while a plan changes.
bool AreClones(const v1::Machine& a, const v1::Machine& b) {
  return a.connected() && b.connected() && a.agent() == a.name() &&
         b.agent() == b.name() && HostOf(a.address()) != HostOf(b.address());
}

void MergeInto(v1::Machine machine, v1::Machine* merged) {
  if (IsOlder(*merged, machine)) merged->Swap(&machine);
  if (AreClones(*merged, machine)) {
    merged->set_conflicting_address(machine.address());
  }
  for (const auto& [cause, ticks] : machine.lost_ticks()) {
    (*merged->mutable_lost_ticks())[cause] += ticks;
  }
  if (machine.expected()) merged->set_expected(true);
}

}  // namespace

std::vector<v1::Machine> MergeMachines(
    std::vector<v1::ListMachinesResponse> lists) {
  std::map<std::string, v1::Machine> by_name;
  for (v1::ListMachinesResponse& list : lists) {
    for (v1::Machine& machine : *list.mutable_machines()) {
      const auto [known, is_new] = by_name.try_emplace(machine.name());
      if (is_new) {
        known->second.Swap(&machine);
      } else {
        MergeInto(std::move(machine), &known->second);
      }
    }
  }
  std::vector<v1::Machine> machines;
  for (auto& [name, machine] : by_name) machines.push_back(std::move(machine));
  return machines;
}

std::map<std::string, size_t> HoldersOf(
    const std::vector<v1::ListMachinesResponse>& lists) {
  std::map<std::string, const v1::Machine*> newest;
  std::map<std::string, size_t> holders;
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const v1::Machine& machine : lists[i].machines()) {
      const v1::Machine*& known = newest[machine.name()];
      if (known != nullptr && !IsOlder(*known, machine)) continue;
      known = &machine;
      holders[machine.name()] = i;
    }
  }
  return holders;
}

std::vector<v1::Counterset> MergeCountersets(
    const std::vector<v1::ListCountersetsResponse>& lists) {
  std::map<std::pair<std::string, std::string>, v1::Counterset> by_name;
  for (const v1::ListCountersetsResponse& list : lists) {
    for (const v1::Counterset& counterset : list.countersets()) {
      const auto [known, is_new] = by_name.try_emplace(
          {counterset.name(), counterset.guid()}, counterset);
      if (is_new) continue;
      v1::Counterset& merged = known->second;
      merged.set_collecting_machines(merged.collecting_machines() +
                                     counterset.collecting_machines());
      merged.set_machines(std::max({merged.machines(), counterset.machines(),
                                    merged.collecting_machines()}));
    }
  }
  std::vector<v1::Counterset> countersets;
  for (auto& [name, merged] : by_name) countersets.push_back(std::move(merged));
  return countersets;
}

std::vector<v1::Counter> MergeCounters(
    std::vector<v1::ListCountersResponse> lists) {
  std::stable_sort(lists.begin(), lists.end(),
                   [](const auto& a, const auto& b) {
                     return a.counters_size() > b.counters_size();
                   });
  std::vector<v1::Counter> counters;
  std::map<uint32_t, size_t> by_id;
  for (const v1::ListCountersResponse& list : lists) {
    for (const v1::Counter& counter : list.counters()) {
      const auto [known, is_new] =
          by_id.try_emplace(counter.id(), counters.size());
      if (is_new) counters.push_back(counter);
      if (counter.collected()) counters[known->second].set_collected(true);
    }
  }
  return counters;
}

v1::ListInstancesResponse MergeInstances(
    const std::vector<v1::ListInstancesResponse>& lists,
    const std::map<std::string, size_t>& holders) {
  std::map<std::string, size_t> lists_of = holders;
  std::map<std::string, std::vector<const v1::ListInstancesResponse::Instance*>>
      by_machine;
  v1::ListInstancesResponse merged;
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const auto& instance : lists[i].instances()) {
      const std::string& machine = instance.machine();
      if (lists_of.try_emplace(machine, i).first->second == i) {
        by_machine[machine].push_back(&instance);
      }
    }
    for (const std::string& machine : lists[i].unanswered()) {
      if (lists_of.try_emplace(machine, i).first->second == i) {
        merged.add_unanswered(machine);
      }
    }
  }
  for (const auto& [machine, instances] : by_machine) {
    for (const auto* instance : instances) *merged.add_instances() = *instance;
  }
  return merged;
}

v1::FindResponse MergeFound(std::vector<v1::FindResponse> lists,
                            uint32_t limit) {
  const auto is_corrected = [](const v1::FindResponse& list) {
    return list.found().empty() || !list.corrected_words().empty();
  };
  if (!std::all_of(lists.begin(), lists.end(), is_corrected)) {
    std::erase_if(lists, is_corrected);
  }
  int longest = 0;
  v1::FindResponse merged;
  for (const v1::FindResponse& list : lists) {
    longest = std::max(longest, list.found_size());
    merged.set_left_out(std::max(merged.left_out(), list.left_out()));
    merged.set_machines_left_out(merged.machines_left_out() +
                                 list.machines_left_out());
    if (merged.corrected_words().empty()) {
      merged.set_corrected_words(list.corrected_words());
    }
  }
  std::map<std::tuple<int, std::string, std::string>, int> known;
  for (int i = 0; i < longest; ++i) {
    for (const v1::FindResponse& list : lists) {
      if (i >= list.found_size()) continue;
      const auto& found = list.found(i);
      const auto [place, is_new] = known.try_emplace(
          {found.kind(), found.path(), found.name()}, merged.found_size());
      if (!is_new) {
        if (found.collected()) {
          merged.mutable_found(place->second)->set_collected(true);
        }
      } else {
        *merged.add_found() = found;
      }
    }
  }
  const int kept = std::min<int>(merged.found_size(), static_cast<int>(limit));
  merged.set_left_out(merged.left_out() +
                      static_cast<uint64_t>(merged.found_size() - kept));
  merged.mutable_found()->DeleteSubrange(kept, merged.found_size() - kept);
  return merged;
}

}  // namespace fleetperf::cli
