#include "aggregator/services/fleet_lists.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "aggregator/formula/unit.h"
#include "aggregator/ingest/agent_limits.h"
#include "aggregator/query/request_limits.h"
#include "aggregator/services/admission.h"
#include "base/channel.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

constexpr uint32_t kDefaultPageSize = 1000;
constexpr uint32_t kMaxPageSize = 10'000;
// Limits of a page, and of the answer to a request without pages. The item that
// exceeds the limit is the last one. No item is larger than the rest of
// kMaxMessageBytes.
constexpr size_t kPageBytes = 4 << 20;
constexpr size_t kAnswerBytes = 8 << 20;
static_assert(kAnswerBytes <= kMaxMessageBytes / 2);
constexpr uint32_t kAnyNumber = std::numeric_limits<uint32_t>::max();
// The limit of a help text, which an agent can make as long as a catalogue.
constexpr size_t kMaxHelpBytes = 64 << 10;
// The number of machines in memory at a time.
constexpr size_t kMachinesAtATime = 100;
// The limit of machines that one call asks for their instances.
constexpr size_t kMaxMachinesAsked = 1000;
constexpr absl::Duration kEnumerateTimeout = absl::Seconds(3);

// Counts the items and bytes of a page.
class Page {
 public:
  // `page_size` is that of a request.
  explicit Page(uint32_t page_size)
      : Page(page_size,
             page_size == 0 ? kAnyNumber : std::min(page_size, kMaxPageSize)) {}
  // Limits the page to `max_items`.
  Page(uint32_t page_size, uint32_t max_items)
      : max_items_(max_items),
        max_bytes_(page_size == 0 ? kAnswerBytes : kPageBytes) {}

  bool is_full() const { return items_ >= max_items_ || bytes_ > max_bytes_; }
  void Add(const google::protobuf::Message& item) {
    ++items_;
    bytes_ += item.ByteSizeLong();
  }

 private:
  const uint32_t max_items_;
  const size_t max_bytes_;
  size_t items_ = 0;
  size_t bytes_ = 0;
};

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

}  // namespace

absl::Status FleetLists::ListMachines(
    const v1::ListMachinesRequest& request, const Caller& caller,
    v1::ListMachinesResponse* response) const {
  ASSIGN_OR_RETURN(const auto slot,
                   Admit(CheckFilter(request), caller, &slots_));
  const MachineFilter machines = MachineFilter::Of(request, store_.directory());
  Page page(request.page_size() == 0 ? kDefaultPageSize : request.page_size());
  // The token is the last name on the previous page.
  std::string last = request.page_token();
  for (;;) {
    RETURN_IF_ERROR(CheckNotCancelled(caller.is_cancelled));
    auto listed = MachinesAfter(last);
    if (listed.empty()) return absl::OkStatus();
    for (v1::Machine& one : listed) {
      std::string name = one.name();
      if (machines.Matches(name)) {
        if (page.is_full()) {
          response->set_next_page_token(last);
          return absl::OkStatus();
        }
        v1::Machine* const machine = response->add_machines();
        machine->Swap(&one);
        Describe(request.with_plan_reports(), machine);
        page.Add(*machine);
      }
      last = std::move(name);
    }
  }
}

absl::Status FleetLists::ListCountersets(
    const v1::ListCountersetsRequest& request, const Caller& caller,
    v1::ListCountersetsResponse* response) const {
  ASSIGN_OR_RETURN(const auto slot,
                   Admit(CheckFilter(request), caller, &slots_));
  const MachineFilter machines = MachineFilter::Of(request, store_.directory());
  Page page(request.page_size());
  std::string last;
  const auto countersets = fleet_.Countersets(
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
                   Admit(CheckFilter(request), caller, &slots_));
  const auto counterset = fleet_.FindCounterset(
      request.counterset(), MachineFilter::Of(request, store_.directory()),
      caller.is_cancelled);
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
  ASSIGN_OR_RETURN(auto slot, Admit(CheckFilter(request), caller, &slots_));
  const auto counterset =
      fleet_.FindCounterset(request.counterset(), {}, caller.is_cancelled);
  if (!counterset.ok()) return counterset.status();
  if (!counterset->registration.HasInstances()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "counterset \"", counterset->registration.name, "\" has no instances"));
  }
  const MachineFilter filter = MachineFilter::Of(request, store_.directory());
  const auto place = ParsePlace(request.page_token());
  if (!place.has_value()) return WrongToken();
  std::vector<std::string> machines = fleet_.MachinesWith(
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
  slot.reset();  // the agents' answers take time, but no work
  AddInstances(std::move(machines), counterset->registration.guid,
               place->machine, place->skipped, request.page_size(), response);
  return absl::OkStatus();
}

// Returns the next machines, stored or expected, by name.
std::vector<v1::Machine> FleetLists::MachinesAfter(
    const std::string& last) const {
  std::vector<Store::StoredMachine> stored =
      store_.GetMachines(last, kMachinesAtATime);
  const auto expected = expected_.names();
  auto next = stored.begin();
  auto name = expected->upper_bound(last);
  std::vector<v1::Machine> machines;
  while (machines.size() < kMachinesAtATime &&
         (next != stored.end() || name != expected->end())) {
    v1::Machine& machine = machines.emplace_back();
    if (next != stored.end() &&
        (name == expected->end() || next->machine.name() <= *name)) {
      machine.Swap(&next++->machine);
    } else {
      machine.set_name(*name);
    }
    machine.set_expected(name != expected->end() && machine.name() == *name);
    if (machine.expected()) ++name;
  }
  return machines;
}

// Adds what the store's description of a machine lacks.
void FleetLists::Describe(bool with_plan_report, v1::Machine* stored) const {
  v1::Machine& machine = *stored;
  BoundMachine(&machine);
  store_.directory().ReplaceLabels(&machine);
  const auto newest = store_.directory().NewestSample(machine.name());
  if (newest.has_value()) {
    *machine.mutable_newest_sample() = ToProto(*newest);
  }
  if (const auto connection = ingest_.FindConnection(machine.name())) {
    machine.set_connected(true);
    machine.set_agent(connection->agent);
    machine.set_address(connection->address);
    *machine.mutable_skew() = ToProto(connection->skew);
    machine.set_rejected_batches(connection->rejected_batches);
    if (connection->certificate_expires.has_value()) {
      *machine.mutable_certificate_expires() =
          ToProto(*connection->certificate_expires);
    }
    if (with_plan_report && connection->plan_report != nullptr) {
      *machine.mutable_plan_report() = *connection->plan_report;
    }
    machine.mutable_limits_broken()->insert(connection->limits_broken.begin(),
                                            connection->limits_broken.end());
    if (newest.has_value()) {
      *machine.mutable_lag() = ToProto(
          ingest_.LagOf(*newest, {.skew = connection->skew,
                                  .batch_period = connection->batch_period}));
    }
  }
  for (const auto& [cause, ticks] :
       store_.LostTicks(machine.agent(), machine.name())) {
    (*machine.mutable_lost_ticks())[std::string(NameOf(cause))] = ticks;
  }
}

// Adds instances from `place` on until the page is full.
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
  auto answers =
      ingest_.EnumerateInstances(machines, counterset, kEnumerateTimeout);
  for (size_t i = 0; i < machines.size(); ++i) {
    const std::string& machine = machines[i];
    const size_t skipped =
        i == 0 && first_machine == machine ? first_skipped : 0;
    if (!answers[i].ok()) {
      if (skipped == 0) response->add_unanswered(machine);
      answers[i] = StoredInstances(machine, counterset);
    }
    for (size_t next = skipped; next < answers[i]->size(); ++next) {
      if (page.is_full()) {
        response->set_next_page_token(TokenOf(InstancePlace{machine, next}));
        return;
      }
      const perflib::InstanceName& instance = (*answers[i])[next];
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

// Returns the instances in the machine's newest samples.
std::vector<perflib::InstanceName> FleetLists::StoredInstances(
    const std::string& machine, const perflib::Guid& counterset) const {
  std::vector<perflib::InstanceName> instances;
  const auto newest = store_.directory().NewestSample(machine);
  if (!newest.has_value()) return instances;
  std::set<std::pair<std::string, uint32_t>> seen;
  const absl::Status status = store_.Read(
      {.machine = machine,
       .from = *newest - absl::Minutes(1),
       .to = *newest,
       .filter =
           [&](const CollectedQuery& query) {
             return query.schema->registration.guid == counterset;
           }},
      [&](const Frame& frame) {
        for (const Frame::Run& run : frame.runs) {
          const Instance& instance = *run.instance;
          if (seen.emplace(instance.name, instance.instance_id).second) {
            instances.push_back({instance.name, instance.instance_id});
          }
        }
        return absl::OkStatus();
      },
      [](const Loss&) {});
  return status.ok() ? instances : std::vector<perflib::InstanceName>();
}

}  // namespace fleetperf::aggregator
