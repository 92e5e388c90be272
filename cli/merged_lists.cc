#include "cli/merged_lists.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"

namespace fleetperf::cli {
namespace {

// Returns the time of the newest sample, which an expected machine without an
// agent does not have.
auto SampleOf(const v1::Machine& machine) {
  return std::make_tuple(machine.has_newest_sample(),
                         machine.newest_sample().seconds(),
                         machine.newest_sample().nanos());
}

// Whether the first description of a machine is older than the second.
bool IsOlder(const v1::Machine& a, const v1::Machine& b) {
  return std::make_pair(a.connected(), SampleOf(a)) <
         std::make_pair(b.connected(), SampleOf(b));
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

void MergeInto(const v1::Machine& machine, v1::Machine* merged) {
  if (AreClones(*merged, machine)) {
    merged->set_conflicting_address(machine.address());
  }
  if (SampleOf(*merged) < SampleOf(machine)) {
    *merged->mutable_newest_sample() = machine.newest_sample();
  }
  for (const auto& [cause, ticks] : machine.lost_ticks()) {
    (*merged->mutable_lost_ticks())[cause] += ticks;
  }
  if (machine.expected()) merged->set_expected(true);
}

template <typename Key, typename Element>
std::vector<Element> ValuesOf(std::map<Key, Element> by_key) {
  std::vector<Element> values;
  values.reserve(by_key.size());
  for (auto& [key, element] : by_key) values.push_back(std::move(element));
  return values;
}

}  // namespace

google::protobuf::RepeatedPtrField<v1::Machine> MergeMachines(
    std::vector<v1::ListMachinesResponse> lists) {
  std::vector<std::unique_ptr<v1::Machine>> by_name;
  for (v1::ListMachinesResponse& list : lists) {
    while (!list.machines().empty()) {
      by_name.emplace_back(list.mutable_machines()->ReleaseLast());
    }
  }
  // Of each machine, the description to show comes first.
  std::stable_sort(
      by_name.begin(), by_name.end(), [](const auto& a, const auto& b) {
        return a->name() != b->name() ? a->name() < b->name() : IsOlder(*b, *a);
      });
  google::protobuf::RepeatedPtrField<v1::Machine> merged;
  for (std::unique_ptr<v1::Machine>& machine : by_name) {
    if (!merged.empty() && merged.rbegin()->name() == machine->name()) {
      MergeInto(*machine, &*merged.rbegin());
    } else {
      merged.AddAllocated(machine.release());
    }
  }
  return merged;
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
  return ValuesOf(std::move(by_name));
}

std::vector<v1::Counter> MergeCounters(
    const std::vector<v1::ListCountersResponse>& lists) {
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
    const std::vector<v1::ListInstancesResponse>& lists) {
  std::map<std::string, v1::ListInstancesResponse> by_machine;
  for (const v1::ListInstancesResponse& list : lists) {
    std::map<std::string, v1::ListInstancesResponse> of_list;
    for (const auto& instance : list.instances()) {
      *of_list[instance.machine()].add_instances() = instance;
    }
    for (const std::string& machine : list.unanswered()) {
      of_list[machine].add_unanswered(machine);
    }
    for (auto& [machine, instances] : of_list) {
      const auto [known, is_new] = by_machine.try_emplace(machine, instances);
      const bool is_stored = !known->second.unanswered().empty();
      if (is_stored && instances.unanswered().empty())
        known->second = instances;
    }
  }
  v1::ListInstancesResponse merged;
  for (const auto& [machine, of] : by_machine) merged.MergeFrom(of);
  return merged;
}

v1::FindResponse MergeFound(const std::vector<v1::FindResponse>& lists,
                            uint32_t limit) {
  const auto has_words = [](const v1::FindResponse& list) {
    return !list.found().empty() && list.corrected_words().empty();
  };
  const bool any = std::any_of(lists.begin(), lists.end(), has_words);
  v1::FindResponse merged;
  // By the place in a list, then by the list.
  std::map<std::pair<int, size_t>, const v1::FindResponse::Found*> in_turn;
  for (size_t i = 0; i < lists.size(); ++i) {
    const v1::FindResponse& list = lists[i];
    merged.set_machines_left_out(merged.machines_left_out() +
                                 list.machines_left_out());
    if (any && !has_words(list)) continue;
    merged.set_left_out(std::max(merged.left_out(), list.left_out()));
    if (merged.corrected_words().empty()) {
      merged.set_corrected_words(list.corrected_words());
    }
    for (int place = 0; place < list.found_size(); ++place) {
      in_turn[{place, i}] = &list.found(place);
    }
  }
  std::map<std::tuple<int, std::string, std::string>, int> known;
  for (const auto& [place, found] : in_turn) {
    const auto [number, is_new] = known.try_emplace(
        {found->kind(), found->path(), found->name()}, merged.found_size());
    if (is_new) *merged.add_found() = *found;
    if (!found->collected()) continue;
    merged.mutable_found(number->second)->set_collected(true);
  }
  const int kept = std::min<int>(merged.found_size(), static_cast<int>(limit));
  merged.set_left_out(merged.left_out() +
                      static_cast<uint64_t>(merged.found_size() - kept));
  merged.mutable_found()->DeleteSubrange(kept, merged.found_size() - kept);
  return merged;
}

}  // namespace fleetperf::cli
