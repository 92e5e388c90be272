#include "aggregator/query/fleet_service.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/formula/unit.h"
#include "aggregator/rpc/access.h"
#include "base/rpc_error.h"
#include "fleetperf/v1/fleet.grpc.pb.h"
#include "perflib/counter_type.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

constexpr uint32_t kDefaultPageSize = 1000;
constexpr uint32_t kMaxPageSize = 10'000;
// Machines that are asked for their instances by one call.
constexpr size_t kMaxMachinesAsked = 1000;
// How long samples may be on their way, beside what they wait for others to be
// sent with.
constexpr absl::Duration kOnItsWay = absl::Seconds(5);
constexpr absl::Duration kAnswerTime = absl::Seconds(3);

// An empty pattern matches every name.
perflib::Pattern PatternOf(const std::string& text) {
  return text.empty() ? perflib::Pattern() : perflib::Pattern(text);
}

class FleetService : public v1::FleetService::Service {
 public:
  FleetService(Store* store, Fleet* fleet, Ingest* ingest)
      : store_(*store), fleet_(*fleet), ingest_(*ingest) {}

  grpc::Status ListMachines(grpc::ServerContext* context,
                            const v1::ListMachinesRequest* request,
                            v1::ListMachinesResponse* response) override {
    if (const auto denied = Check(*context); !denied.ok()) return denied;
    const perflib::Pattern pattern = PatternOf(request->machine());
    const uint32_t page_size =
        request->page_size() == 0
            ? kDefaultPageSize
            : std::min(request->page_size(), kMaxPageSize);
    // The token is the last name of the page before.
    for (const Store::StoredMachine& stored : store_.GetMachines()) {
      const std::string& name = stored.machine.name();
      if (name <= request->page_token() || !pattern.Matches(name)) continue;
      if (response->machines_size() == static_cast<int>(page_size)) {
        response->set_next_page_token(response->machines().rbegin()->name());
        break;
      }
      *response->add_machines() =
          Describe(stored.machine, request->with_plan_reports());
    }
    return grpc::Status::OK;
  }

  grpc::Status ListCountersets(grpc::ServerContext* context,
                               const v1::ListCountersetsRequest* request,
                               v1::ListCountersetsResponse* response) override {
    if (const auto denied = Check(*context); !denied.ok()) return denied;
    for (const FleetCounterset& counterset :
         fleet_.Countersets(PatternOf(request->machine()))) {
      const perflib::CountersetRegistration& registration =
          counterset.registration;
      v1::Counterset* to = response->add_countersets();
      to->set_name(registration.name);
      to->set_guid(registration.guid.ToString());
      to->set_help(registration.help);
      to->set_has_instances(registration.HasInstances());
      to->set_counters(static_cast<uint32_t>(
          std::count_if(registration.counters.begin(),
                        registration.counters.end(), IsShown)));
      to->set_machines(static_cast<uint32_t>(counterset.machines.size()));
      to->set_collecting_machines(
          static_cast<uint32_t>(counterset.collecting_machines.size()));
    }
    return grpc::Status::OK;
  }

  grpc::Status ListCounters(grpc::ServerContext* context,
                            const v1::ListCountersRequest* request,
                            v1::ListCountersResponse* response) override {
    if (const auto denied = Check(*context); !denied.ok()) return denied;
    const auto counterset = fleet_.FindCounterset(request->counterset());
    if (!counterset.ok()) return RpcFromStatus(counterset.status());
    for (const perflib::CounterRegistration& counter :
         counterset->registration.counters) {
      if (!IsShown(counter)) continue;
      v1::Counter* to = response->add_counters();
      to->set_name(counter.name);
      to->set_id(counter.counter_id);
      to->set_type(perflib::CounterTypeName(counter.type));
      to->set_unit(UnitOf(counter));
      to->set_help(counter.help);
      to->set_collected(
          counterset->collected_counters.contains(counter.counter_id));
    }
    return grpc::Status::OK;
  }

  grpc::Status ListInstances(grpc::ServerContext* context,
                             const v1::ListInstancesRequest* request,
                             v1::ListInstancesResponse* response) override {
    if (const auto denied = Check(*context); !denied.ok()) return denied;
    const auto counterset = fleet_.FindCounterset(request->counterset());
    if (!counterset.ok()) return RpcFromStatus(counterset.status());
    if (!counterset->registration.HasInstances()) {
      return RpcFromStatus(absl::InvalidArgumentError(
          absl::StrCat("counterset \"", counterset->registration.name,
                       "\" has no instances")));
    }
    const perflib::Pattern pattern = PatternOf(request->machine());
    std::vector<std::string> machines;
    std::copy_if(counterset->machines.begin(), counterset->machines.end(),
                 std::back_inserter(machines),
                 [&](const auto& name) { return pattern.Matches(name); });
    if (machines.size() > kMaxMachinesAsked) {
      return RpcFromStatus(absl::InvalidArgumentError(
          absl::StrCat("more than ", kMaxMachinesAsked,
                       " machines match; choose some with --machine")));
    }
    if (machines.empty()) {
      return RpcFromStatus(absl::NotFoundError(absl::StrCat(
          "no machine \"", request->machine(), "\" has counterset \"",
          counterset->registration.name, "\"; see: fleetperf machines")));
    }
    AddInstances(machines, counterset->registration.guid, response);
    return grpc::Status::OK;
  }

 private:
  static grpc::Status Check(const grpc::ServerContext& context) {
    const auto peer = CheckAccess(context, {Role::kReader, Role::kOperator});
    return RpcFromStatus(peer.status());
  }

  v1::Machine Describe(const v1::Machine& stored, bool with_plan_report) const {
    v1::Machine machine = stored;
    if (const auto newest = store_.directory().NewestSample(stored.name())) {
      *machine.mutable_newest_sample() = ToProto(*newest);
    }
    if (const auto connection = ingest_.FindConnection(stored.name())) {
      machine.set_connected(true);
      machine.set_agent(connection->agent);
      machine.set_address(connection->address);
      *machine.mutable_skew() = ToProto(connection->skew);
      machine.set_rejected_batches(connection->rejected_batches);
      if (with_plan_report && connection->plan_report != nullptr) {
        *machine.mutable_plan_report() = *connection->plan_report;
      }
      machine.mutable_limits_broken()->insert(connection->limits_broken.begin(),
                                              connection->limits_broken.end());
      if (machine.has_newest_sample()) {
        const absl::Duration age =
            absl::Now() + connection->skew - FromProto(machine.newest_sample());
        const absl::Duration lag = age - connection->batch_period - kOnItsWay;
        *machine.mutable_lag() = ToProto(std::max(lag, absl::ZeroDuration()));
      }
    }
    for (const auto& [cause, ticks] :
         store_.LostTicks(machine.agent(), machine.name())) {
      (*machine.mutable_lost_ticks())[std::string(LossCauseName(cause))] =
          ticks;
    }
    return machine;
  }

  void AddInstances(const std::vector<std::string>& machines,
                    const perflib::Guid& counterset,
                    v1::ListInstancesResponse* response) {
    auto answers =
        ingest_.EnumerateInstances(machines, counterset, kAnswerTime);
    for (size_t i = 0; i < machines.size(); ++i) {
      if (!answers[i].ok()) {
        response->add_unanswered(machines[i]);
        answers[i] = StoredInstances(machines[i], counterset);
      }
      for (const perflib::InstanceName& instance : *answers[i]) {
        v1::ListInstancesResponse::Instance* to = response->add_instances();
        to->set_machine(machines[i]);
        to->set_name(instance.name);
        to->set_instance_id(instance.instance_id);
      }
    }
  }

  // The instances of the machine's newest samples.
  std::vector<perflib::InstanceName> StoredInstances(
      const std::string& machine, const perflib::Guid& counterset) {
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

  Store& store_;
  Fleet& fleet_;
  Ingest& ingest_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFleetService(Store* store, Fleet* fleet,
                                                Ingest* ingest) {
  return std::make_unique<FleetService>(store, fleet, ingest);
}

}  // namespace fleetperf::aggregator
