#include "aggregator/services/machine_pages.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/ingest/agent_limits.h"
#include "aggregator/samples/labels.h"
#include "aggregator/services/page.h"
#include "base/status_macros.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// Whether the first description is older than the second.
bool IsOlder(const v1::Machine& a, const v1::Machine& b) {
  const auto rank = [](const v1::Machine& machine) {
    // An expected machine without an agent has no sample.
    return std::make_tuple(machine.connected(), machine.has_newest_sample(),
                           machine.newest_sample().seconds(),
                           machine.newest_sample().nanos());
  };
  return rank(a) < rank(b);
}

void MergeInto(v1::Machine* merged, v1::Machine machine) {
  if (IsOlder(*merged, machine)) merged->Swap(&machine);
  for (const auto& [cause, ticks] : machine.lost_ticks()) {
    (*merged->mutable_lost_ticks())[cause] += ticks;
  }
  if (machine.expected()) merged->set_expected(true);
}

// The limit of causes and of limits, each of which has a short name.
constexpr size_t kMaxNumbers = 100;

absl::Status Malformed(const std::string& what) {
  return absl::DataLossError(absl::StrCat("its list of machines ", what));
}

bool AreFewAndShort(
    const google::protobuf::Map<std::string, uint64_t>& numbers) {
  return numbers.size() <= kMaxNumbers &&
         std::all_of(numbers.begin(), numbers.end(), [](const auto& number) {
           return number.first.size() <= kMaxFactBytes;
         });
}

void BoundTexts(v1::Machine* machine) {
  BoundMachine(machine);
  Cut(machine->mutable_agent(), kMaxAgentNameBytes);
  Cut(machine->mutable_address(), kMaxFactBytes);
  Labels labels = {machine->labels().begin(), machine->labels().end()};
  BoundLabels(&labels);
  machine->clear_labels();
  machine->mutable_labels()->insert(labels.begin(), labels.end());
  if (machine->has_plan_report()) {
    BoundPlanReport(machine->mutable_plan_report());
  }
}

}  // namespace

absl::Status CheckPage(const std::string& page_token,
                       v1::ListMachinesResponse* page) {
  const std::string& next = page->next_page_token();
  if (!next.empty() && next <= page_token) {
    return Malformed("goes back to machines that it had");
  }
  std::string last = page_token;
  for (v1::Machine& machine : *page->mutable_machines()) {
    RETURN_IF_ERROR(CheckName("a machine", machine.name()));
    if (machine.name() <= last || (!next.empty() && machine.name() > next)) {
      return Malformed("is not ordered");
    }
    if (!AreFewAndShort(machine.lost_ticks()) ||
        !AreFewAndShort(machine.limits_broken())) {
      return Malformed("has too many numbers of a machine");
    }
    last = machine.name();
    BoundTexts(&machine);
  }
  return absl::OkStatus();
}

v1::ListMachinesResponse MergePages(
    std::vector<v1::ListOwnMachinesResponse> pages, uint32_t page_size) {
  std::map<std::string, v1::Machine> machines;
  std::set<std::string> stores;
  // A list that goes on may have machines after its token.
  std::optional<std::string> known_to;
  for (v1::ListOwnMachinesResponse& page : pages) {
    if (!stores.insert(page.store_id()).second) continue;
    const std::string& token = page.page().next_page_token();
    if (!token.empty() && (!known_to.has_value() || token < *known_to)) {
      known_to = token;
    }
    for (v1::Machine& machine : *page.mutable_page()->mutable_machines()) {
      const auto [entry, is_new] =
          machines.try_emplace(machine.name(), v1::Machine());
      if (is_new) {
        entry->second.Swap(&machine);
      } else {
        MergeInto(&entry->second, std::move(machine));
      }
    }
  }
  v1::ListMachinesResponse merged;
  Page page(page_size);
  std::string last;
  for (auto& [name, machine] : machines) {
    if (known_to.has_value() && name > *known_to) break;
    if (page.is_full()) {
      merged.set_next_page_token(last);
      return merged;
    }
    last = name;
    page.Add(machine);
    merged.add_machines()->Swap(&machine);
  }
  if (known_to.has_value()) merged.set_next_page_token(*known_to);
  return merged;
}

}  // namespace fleetperf::aggregator
