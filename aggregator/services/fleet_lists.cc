#include "aggregator/services/fleet_lists.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "aggregator/ingest/agent_limits.h"
#include "aggregator/query/request_limits.h"
#include "aggregator/services/fleet_search.h"
#include "aggregator/services/page.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "proto/conversions.h"
#include "values/unit.h"

namespace fleetperf::aggregator {
namespace {

// The limit of a help text, which an agent can make as long as a catalogue.
constexpr size_t kMaxHelpBytes = 64 << 10;

// The start of a page of instances: a machine, and the number of its instances
// on earlier pages.
struct InstancePlace {
  std::string machine;  // empty: the first one
  size_t skipped = 0;
};

std::string TokenOf(const InstancePlace& place) {
  return absl::StrCat(place.skipped, " ", place.machine);
}

std::optional<InstancePlace> ParsePlace(const std::string& token) {
  InstancePlace place;
  if (token.empty()) return place;
  const size_t space = token.find(' ');
  if (space == token.npos ||
      !absl::SimpleAtoi(token.substr(0, space), &place.skipped)) {
    return std::nullopt;
  }
  place.machine = token.substr(space + 1);
  return place;
}

std::string Shortened(std::string help) {
  Cut(&help, kMaxHelpBytes);
  return help;
}

// A counterset's place in the list: "{GUID}" and its name.
std::string TokenOf(const perflib::CountersetRegistration& registration) {
  return absl::StrCat(registration.guid.ToString(), registration.name);
}

// Whether a counterset comes after the place of `token`.
bool IsBehind(const perflib::CountersetRegistration& registration,
              const std::string& token) {
  if (token.empty()) return true;
  const size_t guid_size =
      std::min(perflib::Guid().ToString().size(), token.size());
  const auto guid = perflib::ParseGuid(token.substr(0, guid_size));
  const std::string name = token.substr(guid_size);
  return std::tie(registration.name, registration.guid) >
         std::make_tuple(name, guid.value_or(perflib::Guid()));
}

absl::Status WrongToken() {
  return absl::InvalidArgumentError("page_token is not a token of this list");
}

template <typename Request>
MachineFilter FilterOf(const Request& request, const ReadScope& scope) {
  return MachineFilter::Of(request, scope.store.directory());
}

}  // namespace

absl::Status FleetLists::ListMachines(
    const v1::ListMachinesRequest& request, const Caller& caller,
    v1::ListMachinesResponse* response) const {
  ASSIGN_OR_RETURN(const auto slot,
                   Admit(CheckFilter(request), caller, Pool::kLists, &quota_));
  ASSIGN_OR_RETURN(*response, own_.List(request, caller.is_cancelled));
  return absl::OkStatus();
}

absl::Status FleetLists::ListCountersets(
    const v1::ListCountersetsRequest& request, const Caller& caller,
    v1::ListCountersetsResponse* response) const {
  ASSIGN_OR_RETURN(const auto slot,
                   Admit(CheckFilter(request), caller, Pool::kLists, &quota_));
  const MachineFilter machines = FilterOf(request, scope_);
  Page page(request.page_size());
  std::string last;
  const auto countersets = scope_.fleet.Countersets(
      [&](const std::string& machine) { return machines.Matches(machine); },
      caller.is_cancelled);
  for (const FleetCounterset& counterset : countersets) {
    const perflib::CountersetRegistration& registration =
        counterset.registration;
    if (!IsBehind(registration, request.page_token())) continue;
    if (page.is_full()) {
      response->set_next_page_token(last);
      break;
    }
    last = TokenOf(registration);
    v1::Counterset* to = response->add_countersets();
    to->set_name(registration.name);
    to->set_guid(registration.guid.ToString());
    to->set_help(Shortened(registration.help));
    to->set_has_instances(registration.HasInstances());
    to->set_counters(static_cast<uint32_t>(std::count_if(
        registration.counters.begin(), registration.counters.end(), IsShown)));
    to->set_machines(static_cast<uint32_t>(counterset.machines));
    to->set_provider(counterset.registration.provider_name);
    to->set_collecting_machines(
        static_cast<uint32_t>(counterset.collecting_machines));
    page.Add(*to);
  }
  return absl::OkStatus();
}

absl::Status FleetLists::ListCounters(
    const v1::ListCountersRequest& request, const Caller& caller,
    v1::ListCountersResponse* response) const {
  ASSIGN_OR_RETURN(const auto slot,
                   Admit(CheckFilter(request), caller, Pool::kLists, &quota_));
  const auto counterset = scope_.fleet.FindCounterset(
      request.counterset(), FilterOf(request, scope_), caller.is_cancelled);
  if (!counterset.ok()) return counterset.status();
  Page page(request.page_size());
  const auto& counters = counterset->registration.counters;
  // The token is the place of the next instance.
  size_t next = 0;
  if (!request.page_token().empty() &&
      !absl::SimpleAtoi(request.page_token(), &next)) {
    return WrongToken();
  }
  for (; next < counters.size(); ++next) {
    const perflib::CounterRegistration& counter = counters[next];
    if (!IsShown(counter)) continue;
    if (page.is_full()) {
      response->set_next_page_token(absl::StrCat(next));
      break;
    }
    v1::Counter* to = response->add_counters();
    to->set_name(counter.name);
    to->set_id(counter.counter_id);
    to->set_type(perflib::CounterTypeName(counter.type));
    to->set_unit(UnitOf(counter));
    to->set_help(Shortened(counter.help));
    to->set_collected(
        counterset->collected_counters.contains(counter.counter_id));
    page.Add(*to);
  }
  return absl::OkStatus();
}

absl::Status FleetLists::ListInstances(
    const v1::ListInstancesRequest& request, const Caller& caller,
    v1::ListInstancesResponse* response) const {
  ASSIGN_OR_RETURN(auto slot,
                   Admit(CheckFilter(request), caller, Pool::kLists, &quota_));
  // The counterset may be one that no machine of the filter has.
  const auto counterset = scope_.fleet.FindCounterset(request.counterset(), {},
                                                      caller.is_cancelled);
  if (!counterset.ok()) return counterset.status();
  if (!counterset->registration.HasInstances()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "counterset \"", counterset->registration.name, "\" has no instances"));
  }
  const MachineFilter filter = FilterOf(request, scope_);
  const auto place = ParsePlace(request.page_token());
  if (!place.has_value()) return WrongToken();
  std::vector<std::string> machines = scope_.fleet.MachinesWith(
      counterset->registration.guid,
      [&](const std::string& machine) {
        return machine >= place->machine && filter.Matches(machine);
      },
      caller.is_cancelled);
  if (request.page_size() == 0 && machines.size() > kMaxMachinesAsked) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxMachinesAsked,
                     " machines match; select fewer with --machine"));
  }
  if (machines.empty() && request.page_token().empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no ", filter.Text(), " has counterset \"",
        counterset->registration.name, "\"; see: fleetperf machines"));
  }
  slot.Release();  // the agents' answers take time, but no work
  AddInstances(std::move(machines), counterset->registration.guid,
               place->machine, place->skipped, request.page_size(), response);
  return absl::OkStatus();
}

absl::Status FleetLists::Find(const v1::FindRequest& request,
                              const Caller& caller,
                              v1::FindResponse* response) const {
  absl::Status valid = CheckFilter(request);
  valid.Update(CheckFindRequest(request));
  ASSIGN_OR_RETURN(const auto slot,
                   Admit(valid, caller, Pool::kLists, &quota_));
  return SearchFleet(request, FilterOf(request, scope_), scope_, caller,
                     response);
}

void FleetLists::AddInstances(std::vector<std::string> machines,
                              const perflib::Guid& counterset,
                              const std::string& first_machine,
                              size_t first_skipped, uint32_t page_size,
                              v1::ListInstancesResponse* response) const {
  std::string next_machine;  // the first one of the next page
  const size_t max_machines =
      page_size == 0 ? kMaxMachinesAsked
                     : std::min<size_t>(page_size, kMaxMachinesAsked);
  if (machines.size() > max_machines) {
    next_machine = machines[max_machines];
    machines.resize(max_machines);
  }
  Page page(page_size == 0 ? 0 : kMaxPageSize, kAnyNumber);
  const std::vector<MachineInstances> answers =
      own_.Instances(machines, counterset);
  for (size_t i = 0; i < machines.size(); ++i) {
    const std::string& machine = machines[i];
    const size_t skipped =
        i == 0 && first_machine == machine ? first_skipped : 0;
    if (!answers[i].is_answered && skipped == 0) {
      response->add_unanswered(machine);
    }
    const auto& instances = answers[i].instances;
    for (size_t next = skipped; next < instances.size(); ++next) {
      if (page.is_full()) {
        response->set_next_page_token(TokenOf(InstancePlace{machine, next}));
        return;
      }
      const perflib::InstanceName& instance = instances[next];
      v1::ListInstancesResponse::Instance* to = response->add_instances();
      to->set_machine(machine);
      to->set_name(instance.name);
      to->set_instance_id(instance.instance_id);
      page.Add(*to);
    }
  }
  if (!next_machine.empty()) {
    response->set_next_page_token(TokenOf(InstancePlace{next_machine, 0}));
  }
}

}  // namespace fleetperf::aggregator
