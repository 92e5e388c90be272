#include "aggregator/aggregator.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/administration_service.h"
#include "aggregator/ingest/collection_service.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/maintenance.h"
#include "aggregator/plan/plan_service.h"
#include "aggregator/plan/planner.h"
#include "aggregator/query/fleet.h"
#include "aggregator/query/fleet_service.h"
#include "aggregator/query/query_service.h"
#include "aggregator/store/store.h"
#include "aggregator/subscribe/hub.h"
#include "aggregator/subscribe/subscription_service.h"
#include "base/channel.h"
#include "base/files.h"
#include "base/os.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// How long open calls may take when the aggregator stops.
constexpr absl::Duration kShutdownTime = absl::Seconds(1);
// The newest sample may be this old while its machine is well, besides the time
// that it may wait for others at the agent.
constexpr absl::Duration kFresh = absl::Seconds(30);

class RunningAggregator : public Aggregator {
 public:
  RunningAggregator(const Config& config, std::unique_ptr<Store> store)
      : config_(config),
        store_(std::move(store)),
        planner_(config.plans),
        ingest_(store_.get(), &hub_, &planner_, config.ingest),
        maintenance_(store_.get(), config.retention) {
    hub_.SetWatchListener([this] { ingest_.UpdatePaces(); });
    planner_.SetListener([this] { ingest_.UpdatePlans(); });
    const MachineNow now_of = [this](const std::string& machine) {
      return NowOf(machine);
    };
    services_.push_back(MakeCollectionService(&ingest_));
    services_.push_back(MakeQueryService(store_.get(), &fleet_, now_of));
    services_.push_back(MakeFleetService(store_.get(), &fleet_, &ingest_));
    services_.push_back(MakeSubscriptionService(store_.get(), &fleet_, &hub_));
    services_.push_back(
        MakePlanService(store_.get(), &fleet_, &ingest_, &planner_));
    services_.push_back(MakeAdministrationService(store_.get()));
  }

  ~RunningAggregator() override {
    if (server_ != nullptr) {
      server_->Shutdown(absl::ToChronoTime(absl::Now() + kShutdownTime));
    }
    hub_.SetWatchListener(nullptr);
    planner_.SetListener(nullptr);
  }

  absl::Status Serve(
      const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(config_.listen, credentials, &port);
    // Two servers on one port would share its clients at random.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    // Agents and subscribers send keepalive pings, too.
    builder.AddChannelArgument(
        GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    for (const auto& service : services_) {
      builder.RegisterService(service.get());
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port == 0) {
      return absl::UnavailableError(absl::StrCat(
          "cannot listen on ", config_.listen,
          ": the port is taken by another process, or the address is not this "
          "machine's"));
    }
    address_ = absl::StrCat(config_.listen.substr(0, config_.listen.rfind(':')),
                            ":", port);
    if (!config_.address_file.empty()) {
      RETURN_IF_ERROR(WriteFile(config_.address_file, address_ + "\n"));
    }
    spdlog::info("listening on {}", address_);
    return absl::OkStatus();
  }

  const std::string& address() const override { return address_; }

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
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
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
