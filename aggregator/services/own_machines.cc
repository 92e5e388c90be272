#include "aggregator/services/own_machines.h"

#include <set>
#include <utility>

#include "aggregator/query/machine_filter.h"
#include "aggregator/samples/stored_machine.h"
#include "aggregator/services/page.h"
#include "base/status_macros.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The number of machines in memory at a time.
constexpr size_t kMachinesAtATime = 100;
constexpr absl::Duration kEnumerateTimeout = absl::Seconds(3);

}  // namespace

absl::StatusOr<v1::ListMachinesResponse> OwnMachines::List(
    const v1::ListMachinesRequest& request,
    const IsCancelled& is_cancelled) const {
  const MachineFilter machines = MachineFilter::Of(request, store_.directory());
  Page page(request.page_size() == 0 ? kDefaultPageSize : request.page_size());
  v1::ListMachinesResponse response;
  std::string last = request.page_token();
  for (;;) {
    RETURN_IF_ERROR(CheckNotCancelled(is_cancelled));
    auto listed = MachinesAfter(last);
    if (listed.empty()) return response;
    for (v1::Machine& one : listed) {
      std::string name = one.name();
      if (machines.Matches(name)) {
        if (page.is_full()) {
          response.set_next_page_token(last);
          return response;
        }
        v1::Machine* const machine = response.add_machines();
        machine->Swap(&one);
        Describe(request.with_plan_reports(), machine);
        page.Add(*machine);
      }
      last = std::move(name);
    }
  }
}

std::vector<MachineInstances> OwnMachines::Instances(
    const std::vector<std::string>& machines,
    const perflib::Guid& counterset) const {
  auto answers =
      ingest_.EnumerateInstances(machines, counterset, kEnumerateTimeout);
  std::vector<MachineInstances> found;
  for (size_t i = 0; i < machines.size(); ++i) {
    const bool is_answered = answers[i].ok();
    found.push_back(
        {is_answered, is_answered ? *std::move(answers[i])
                                  : StoredInstances(machines[i], counterset)});
  }
  return found;
}

// Returns the next machines, stored or expected, by name.
std::vector<v1::Machine> OwnMachines::MachinesAfter(
    const std::string& last) const {
  std::vector<StoredMachine> stored =
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
void OwnMachines::Describe(bool with_plan_report, v1::Machine* stored) const {
  v1::Machine& machine = *stored;
  store_.directory().ReplaceLabels(&machine);
  const auto newest = store_.directory().NewestSample(machine.name());
  if (newest.has_value()) {
    *machine.mutable_newest_sample() = ToProto(*newest);
  }
  if (const auto connection = ingest_.FindConnection(machine.name())) {
    machine.set_connected(true);
    machine.set_agent(connection->agent);
    machine.set_address(connection->address);
    machine.set_no_new_samples(!connection->has_samples);
    // Of the agent's own machine only: others have no agent of their name.
    if (machine.name() == connection->agent) {
      machine.set_conflicting_address(connection->conflicting_address);
    }
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
  } else {
    machine.set_not_here(machine.expected() && expected_.has_others());
  }
  for (const auto& [cause, ticks] :
       store_.LostTicks(machine.agent(), machine.name())) {
    (*machine.mutable_lost_ticks())[std::string(NameOf(cause))] = ticks;
  }
}

// Returns the instances in the machine's newest samples.
std::vector<perflib::InstanceName> OwnMachines::StoredInstances(
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
