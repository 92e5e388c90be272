#include "aggregator/aggregator.h"

#include <grpcpp/impl/service_type.h>
#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

#include "aggregator/administration_service.h"
#include "aggregator/ingest/collection_service.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/maintenance.h"
#include "aggregator/plan/plan_service.h"
#include "aggregator/plan/planner.h"
#include "aggregator/query/fleet.h"
#include "aggregator/query/fleet_service.h"
#include "aggregator/query/query_service.h"
#include "aggregator/rpc/rpc_server.h"
#include "aggregator/store/store.h"
#include "aggregator/subscribe/hub.h"
#include "aggregator/subscribe/subscription_service.h"
#include "base/os.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The newest sample may be this old while its machine is well, besides the time
// that it may wait for others at the agent.
constexpr absl::Duration kFresh = absl::Seconds(30);

class RunningAggregator : public Aggregator {
 public:
  RunningAggregator(const Config& config, std::unique_ptr<Store> store)
      : config_(config),
        store_(std::move(store)),
        hub_(store_.get(), config.subscriptions),
        planner_(config.plans),
        ingest_(store_.get(), &hub_, &planner_, config.ingest),
        maintenance_(store_.get(), config.retention) {
    hub_.SetAfterCommits([this](std::function<void()> task) {
      ingest_.AfterCommits(std::move(task));
    });
    hub_.SetLiveListener([this] { ingest_.UpdatePaces(); });
    planner_.SetListener([this] { ingest_.UpdatePlans(); });
    const MachineNow now_of = [this](const std::string& machine) {
      return NowOf(machine);
    };
    streams_.push_back(MakeCollectionService(&ingest_));
    streams_.push_back(MakeSubscriptionService(store_.get(), &fleet_, &hub_));
    services_.push_back(MakeQueryService(store_.get(), &fleet_, now_of));
    services_.push_back(MakeFleetService(store_.get(), &fleet_, &ingest_));
    services_.push_back(
        MakePlanService(store_.get(), &fleet_, &ingest_, &planner_));
    services_.push_back(MakeAdministrationService(store_.get()));
  }

  ~RunningAggregator() override {
    server_.reset();
    hub_.SetLiveListener(nullptr);
    planner_.SetListener(nullptr);
  }

  absl::Status Serve(
      const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    ASSIGN_OR_RETURN(server_,
                     RpcServer::Start(config_.listen, config_.address_file,
                                      credentials, services_, streams_));
    return absl::OkStatus();
  }

  const std::string& address() const override { return server_->address(); }

  void SetPlans(std::vector<PlanEntry> plans) override {
    planner_.SetEntries(std::move(plans));
  }

 private:
  // The time by a machine's own clock. While it is well, that of its newest
  // sample: what follows is on its way, and not missing.
  absl::Time NowOf(const std::string& machine) {
    const auto connection = ingest_.FindConnection(machine);
    absl::Time now = absl::Now();
    absl::Duration fresh = kFresh;
    if (connection.has_value()) {
      now += connection->skew;
      fresh += connection->batch_period;
    }
    const auto newest = store_->directory().NewestSample(machine);
    return newest.has_value() && now - *newest < fresh ? *newest : now;
  }

  const Config config_;
  const std::unique_ptr<Store> store_;
  Fleet fleet_{store_.get()};
  Hub hub_;
  Planner planner_;
  Ingest ingest_;
  Maintenance maintenance_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::vector<std::unique_ptr<StreamService>> streams_;
  std::unique_ptr<RpcServer> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Aggregator>> Aggregator::Start(
    const Config& config) {
  // Each agent's connection is one.
  spdlog::info("may have {} files and connections open", RaiseOpenFileLimit());
  ASSIGN_OR_RETURN(const auto credentials, ServerCredentials(config.tls));
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store,
                   OpenRocksDbStore(config.store_directory));
  auto aggregator =
      std::make_unique<RunningAggregator>(config, std::move(store));
  RETURN_IF_ERROR(aggregator->Serve(credentials));
  return aggregator;
}

}  // namespace fleetperf::aggregator
