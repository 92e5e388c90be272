#include "aggregator/aggregator.h"

#include <grpcpp/impl/service_type.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/export/exporter.h"
#include "aggregator/history/history_store.h"
#include "aggregator/ingest/expected_machines.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/maintenance/clock_guard.h"
#include "aggregator/maintenance/maintenance.h"
#include "aggregator/own/own_collection.h"
#include "aggregator/own/own_counters.h"
#include "aggregator/plan/planner.h"
#include "aggregator/query/fleet.h"
#include "aggregator/services/fleet_lists.h"
#include "aggregator/services/own_machines.h"
#include "aggregator/services/query_answers.h"
#include "aggregator/services/read_scope.h"
#include "aggregator/services/services.h"
#include "aggregator/services/subscriptions.h"
#include "aggregator/store/store.h"
#include "aggregator/subscribe/hub.h"
#include "aggregator/web/web_page.h"
#include "base/log.h"
#include "base/os/os.h"
#include "base/server/certificate_watch.h"
#include "base/server/client_certificates.h"
#include "base/server/rpc_server.h"
#include "base/status_macros.h"
#include "base/tls/tls_identity.h"

namespace fleetperf::aggregator {
namespace {

// Upper bound on the age of a healthy machine's newest sample, in addition to
// the time that a sample may wait at the agent for its batch.
constexpr absl::Duration kFresh = absl::Seconds(30);

absl::Duration KeptInFullResolution(const Retention& retention) {
  return std::min(retention.full_resolution, retention.all);
}

class RunningAggregator : public Aggregator {
 public:
  // Constructs the parts in dependency order: each part receives pointers to
  // parts constructed before it. The hub and the planner also call the ingest,
  // through the callbacks set below.
  RunningAggregator(const Config& config, std::shared_ptr<TlsIdentity> identity,
                    std::unique_ptr<Store> store, const Clock* clock)
      : config_(config),
        clock_(*clock),
        store_(std::move(store)),
        identity_(std::move(identity)) {
    store_->SetLabelRules(config.machine_labels);
    fleet_ = std::make_unique<Fleet>(store_.get());
    hub_ = std::make_unique<Hub>(store_.get(), config.subscriptions);
    planner_ = std::make_unique<Planner>(config.plans, clock);
    IngestLimits limits = config.ingest;
    if (const auto free = store_->counts().free_bytes; free.has_value()) {
      FitDefinitions(*free + store_->size(), &limits);
    }
    ingest_ = std::make_unique<Ingest>(store_.get(), hub_.get(), planner_.get(),
                                       limits, clock);
    expected_ = std::make_unique<ExpectedMachines>(
        ingest_.get(), config.expected_machines, !config.others.empty());
    guard_ = std::make_unique<ClockGuard>(store_.get(), clock);
    maintenance_ = std::make_unique<Maintenance>(store_.get(), config.retention,
                                                 guard_.get(), clock);
    hub_->SetAfterCommits([this](std::function<void()> task) {
      ingest_->AfterCommits(std::move(task));
    });
    hub_->SetLiveListener([this] { ingest_->UpdatePaces(); });
    planner_->SetListener([this] { ingest_->UpdatePlans(); });
    store_->SetLabelsListener([this](std::vector<std::string> machines) {
      hub_->SelectAgain(std::move(machines));
    });
    if (config.history.has_value()) {
      history_ = std::make_unique<HistoryStore>(
          store_.get(), std::make_unique<QueryClient>(*config.history),
          // While old batches arrive, a machine seems to have a slow clock.
          [this](const std::string& machine) {
            return std::max(NowOf(machine), clock_.Now());
          },
          KeptInFullResolution(config.retention));
      hub_->SetHistory(history_.get());
    }
    streams_.push_back(MakeCollectionService(ingest_.get()));
    own_machines_ = std::make_unique<OwnMachines>(store_.get(), ingest_.get(),
                                                  expected_.get());
    scope_ = std::make_unique<ReadScope>(
        ReadScope{.store = samples(),
                  .fleet = *fleet_,
                  .now_of = [this](const std::string& machine) {
                    return NowOf(machine);
                  }});
    subscriptions_ = std::make_unique<Subscriptions>(
        store_.get(), fleet_.get(), hub_.get(), clock, &quota_);
    streams_.push_back(MakeSubscriptionService(subscriptions_.get()));
    services_.push_back(MakeQueryService(queries()));
    services_.push_back(MakeFleetService(lists()));
    services_.push_back(MakePlanService(store_.get(), fleet_.get(),
                                        ingest_.get(), planner_.get()));
    AdministrationParts administration = {.name = config.name,
                                          .others = config.others,
                                          .store = store_.get(),
                                          .ingest = ingest_.get(),
                                          .expected = expected_.get(),
                                          .guard = guard_.get(),
                                          .clock = clock};
    if (!config.web.listen.empty()) {
      administration.login_link_life = web::WebPage::kLoginLinkLife;
      administration.make_login_link = [this](const CertificateInfo& caller) {
        return page_->MakeLoginLink(caller);
      };
    }
    services_.push_back(MakeAdministrationService(administration));
    services_.push_back(MakeHealthService([this] {
      RETURN_IF_ERROR(clients_->CheckRevocations());
      return ingest_->CheckReady();
    }));
  }

  // Each step stops the callers of the parts destroyed in later steps. The hub
  // outlives the ingest because the last commits still notify the hub, which
  // ignores them once it is stopped.
  ~RunningAggregator() override {
    own_collection_.reset();
    exporter_.reset();
    certificate_watch_.reset();
    // These end the streams of agents and subscribers, and queries.
    server_.reset();  // before the page, for which its calls make login links
    page_.reset();
    streams_.clear();
    services_.clear();
    hub_->Stop();  // joins threads that call the ingest and read the store
    planner_->SetListener(nullptr);
    store_->SetLabelsListener(nullptr);
    scope_.reset();
    own_machines_.reset();
    expected_.reset();
    ingest_.reset();       // commits pending batches
    maintenance_.reset();  // joins the thread that changes the store
    guard_.reset();
    planner_.reset();
    subscriptions_.reset();
    hub_.reset();
    history_.reset();
    fleet_.reset();
    store_.reset();
  }

  absl::Status Serve() {
    ASSIGN_OR_RETURN(RevokedFile revoked,
                     RevokedFile::Load(config_.revoked, clients_.get()));
    std::vector<std::shared_ptr<TlsIdentity>> identities = {identity_};
    if (!config_.web.listen.empty()) {
      ASSIGN_OR_RETURN(const auto own, LoadPageIdentity());
      if (own != identity_) identities.push_back(own);
      RETURN_IF_ERROR(ServePage(own));
    }
    ASSIGN_OR_RETURN(
        server_, RpcServer::Start(config_.listen, config_.address_file,
                                  config_.connections, identity_->ForServer(),
                                  clients_, services_, streams_));
    certificate_watch_ = std::make_unique<CertificateWatch>(
        std::move(identities), std::move(revoked), server_.get(), &clock_);
    if (config_.exporting.has_value()) {
      exporter_ = std::make_unique<Exporter>(
          *config_.exporting, exported_machines(), store_.get(), &clock_);
    }
    own_counters_ = std::make_unique<OwnCounterset>(
        MakeOwnCounters({.store = store_.get(),
                         .ingest = ingest_.get(),
                         .expected = expected_.get(),
                         .hub = hub_.get(),
                         .server = server_.get(),
                         .identity = identity_.get(),
                         .clock = &clock_,
                         .guard = guard_.get(),
                         .maintenance = maintenance_.get(),
                         .exporter = exporter_.get(),
                         .page = page_.get(),
                         .quota = &quota_}));
    own_collection_ = std::make_unique<OwnCollection>(
        config_.name, own_counters_.get(), ingest_.get(), &clock_);
    return absl::OkStatus();
  }

  const std::string& address() const override { return server_->address(); }

  void Probe() const override { own_counters_->Read(); }

  void Reload(const Config& config) override {
    // First, because the planner's listener sends the plans that follow from
    // the labels, too.
    store_->SetLabelRules(config.machine_labels);
    planner_->SetEntries(config.plans);
    expected_->Set(config.expected_machines);
    maintenance_->SetRetention(config.retention);
    if (history_ != nullptr) {
      history_->SetKept(KeptInFullResolution(config.retention));
    }
  }

 private:
  // The samples that questions read.
  ReadableStore& samples() {
    if (history_ != nullptr) return *history_;
    return *store_;
  }

  // The parts that services and the page answer with.
  FleetLists lists() {
    return FleetLists(scope_.get(), own_machines_.get(), &quota_);
  }
  QueryAnswers queries() { return QueryAnswers(scope_.get(), &quota_); }

  ExportedMachines exported_machines() const {
    return {.aggregator = config_.name,
            .copied_labels = config_.exporting.has_value()
                                 ? config_.exporting->labels
                                 : std::vector<std::string>(),
            .expected = [this] { return *expected_->names(); }};
  }

  web::MetricsParts scrapes() {
    return {
        .store = store_.get(),
        .now_of = [this](const std::string& machine) { return NowOf(machine); },
        .quota = &quota_,
        .paths = config_.exporting.has_value() ? config_.exporting->paths
                                               : std::vector<std::string>(),
        .machines = exported_machines()};
  }

  // Returns the certificate that the page shows to browsers.
  absl::StatusOr<std::shared_ptr<TlsIdentity>> LoadPageIdentity() {
    if (config_.web.certificate.empty()) return identity_;
    return TlsIdentity::Load({.authority = config_.tls.authority,
                              .certificate = config_.web.certificate,
                              .key = config_.web.key},
                             /*role=*/std::nullopt, &clock_);
  }

  absl::Status ServePage(std::shared_ptr<TlsIdentity> own) {
    ASSIGN_OR_RETURN(
        page_, web::WebPage::Start({.listen = config_.web.listen,
                                    .address_file = config_.web.address_file,
                                    .public_url = config_.web.public_url,
                                    .others = config_.others,
                                    .own = std::move(own),
                                    .authority = identity_,
                                    .clients = clients_,
                                    .clock = &clock_},
                                   lists(), queries(), subscriptions_.get(),
                                   scrapes()));
    return absl::OkStatus();
  }

  // Returns the current time by the machine's own clock. While the machine is
  // healthy, returns the time of its newest sample: later samples are still in
  // flight, not missing.
  absl::Time NowOf(const std::string& machine) {
    const auto timing = ingest_->FindTiming(machine);
    absl::Time now = clock_.Now();
    absl::Duration fresh = kFresh;
    if (timing.has_value()) {
      now += timing->skew;
      fresh += timing->batch_period;
    }
    const auto newest = store_->directory().NewestSample(machine);
    if (!newest.has_value() || now - *newest >= fresh) return now;
    // The clock that was ahead may have been corrected since the agent left.
    if (!timing.has_value() && *newest - now >= fresh) return now;
    return *newest;
  }

  const Config config_;
  const Clock& clock_;
  CallerQuota& quota_ = CallerQuota::OfProcess();
  const std::shared_ptr<ClientCertificates> clients_ =
      std::make_shared<ClientCertificates>(&clock_, &quota_);
  // In construction order. The destructor defines the order of destruction.
  std::unique_ptr<Store> store_;
  std::unique_ptr<HistoryStore> history_;  // nullptr: all is in the store
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Planner> planner_;
  std::unique_ptr<Ingest> ingest_;
  std::unique_ptr<ExpectedMachines> expected_;
  std::unique_ptr<OwnMachines> own_machines_;
  std::unique_ptr<ReadScope> scope_;
  std::unique_ptr<ClockGuard> guard_;
  std::unique_ptr<Maintenance> maintenance_;
  std::unique_ptr<Subscriptions> subscriptions_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::vector<std::unique_ptr<StreamService>> streams_;
  const std::shared_ptr<TlsIdentity> identity_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<web::WebPage> page_;  // nullptr: there is none
  std::unique_ptr<CertificateWatch> certificate_watch_;
  std::unique_ptr<Exporter> exporter_;
  std::unique_ptr<OwnCounterset> own_counters_;
  std::unique_ptr<OwnCollection> own_collection_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Aggregator>> Aggregator::Start(
    const Config& config, const Clock* clock) {
  // Each agent's connection uses one file descriptor.
  LogInfo("the limit on open files and connections is ", RaiseOpenFileLimit());
  ASSIGN_OR_RETURN(auto identity,
                   TlsIdentity::Load(config.tls, Role::kAggregator, clock));
  ASSIGN_OR_RETURN(
      std::unique_ptr<Store> store,
      OpenRocksDbStore(config.store_directory, clock, config.recent_memory));
  RETURN_IF_ERROR(store->KeepExportCursors(config.exporting.has_value()));
  auto aggregator = std::make_unique<RunningAggregator>(
      config, std::move(identity), std::move(store), clock);
  RETURN_IF_ERROR(aggregator->Serve());
  return aggregator;
}

}  // namespace fleetperf::aggregator
