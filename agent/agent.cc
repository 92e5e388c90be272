#include "agent/agent.h"

#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "agent/certificate_names.h"
#include "agent/collect/machines.h"
#include "agent/collect/plan_in_force.h"
#include "agent/deliver/catalogue.h"
#include "agent/deliver/uplink.h"
#include "agent/own_counters.h"
#include "agent/source/combined_source.h"
#include "agent/source/sources.h"
#include "base/log.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "base/os/detached_thread.h"
#include "base/os/files.h"
#include "base/os/os.h"
#include "base/rpc/callback_threads.h"
#include "base/status_macros.h"
#include "base/tls/certificate_renewal.h"
#include "base/tls/tls_identity.h"

namespace fleetperf::agent {
namespace {

uint64_t RandomEpoch() {
  absl::BitGen random;
  return absl::Uniform<uint64_t>(random);
}

class RunningAgent : public Agent {
 public:
  RunningAgent(const Config& config, Machines::Options machines,
               std::unique_ptr<Spool> spool,
               std::shared_ptr<TlsIdentity> identity,
               std::unique_ptr<CallbackThreads> callback_threads,
               std::function<void()> on_stuck)
      : config_(config),
        callback_threads_(std::move(callback_threads)),
        on_stuck_(std::move(on_stuck)),
        identity_(std::move(identity)),
        delivery_({.batch_period = config.batch_period}, std::move(spool)) {
    machines.delivery = &delivery_;
    machines.counts = &collection_counts_;
    machines.own_source = CombineSources(std::move(machines.own_source),
                                         MakeOwnSource(&own_counters_));
    machines_ = std::make_unique<Machines>(std::move(machines));
    plan_ = std::make_unique<PlanInForce>(
        config.plan, ResolvePath(config.state_directory, "plan"),
        machines_.get());
    // The catalogue must be complete before it is announced.
    machines_->Reports();
    Connect();
  }

  // Sends all samples collected so far, as far as the aggregator accepts them.
  ~RunningAgent() override {
    machines_->Stop();
    delivery_.Flush();
    uplink_.reset();
  }

  void Reload(const Config& config) override {
    if (config.aggregators == config_.aggregators &&
        config.aggregators_order == config_.aggregators_order &&
        config.labels == config_.labels && config.plan == config_.plan) {
      return;
    }
    uplink_->Disconnect();  // its thread uses the plan
    config_.aggregators = config.aggregators;
    config_.aggregators_order = config.aggregators_order;
    config_.labels = config.labels;
    config_.plan = config.plan;
    plan_->SetOwn(config.plan);
    uplink_->Connect(PreferredAggregators(config_), config.labels);
  }

  void Probe() const override { own_counters_.Read(); }

 private:
  void Connect() {
    uplink_ = std::make_unique<Uplink>(Uplink::Options{
        .aggregators = PreferredAggregators(config_),
        .credentials = [this] { return identity_->ForClient(); },
        .renew_certificate = [this] { renewal_.Run(); },
        .agent =
            {
                .agent = config_.name,
                .operating_system = OperatingSystem(),
                .labels = config_.labels,
                .delivery = &delivery_,
                .catalogue =
                    [this] {
                      return MakeCatalogue(machines_->registrations());
                    },
                .enumerate_instances =
                    [this](const std::string& machine,
                           const perflib::Guid& guid) {
                      return machines_->EnumerateInstances(machine, guid);
                    },
                .apply_plan =
                    [this](const v1::Plan* plan) { return plan_->Apply(plan); },
                .changed_report = [this] { return plan_->ChangedReport(); },
                .on_disconnect = [this] { plan_->EndTemporaryQueries(); },
            },
        .counts = &uplink_counts_,
        .on_stuck = on_stuck_});
  }

  Config config_;
  const std::unique_ptr<CallbackThreads> callback_threads_;
  const std::function<void()> on_stuck_;
  const std::shared_ptr<TlsIdentity> identity_;
  CertificateRenewal renewal_{identity_};  // used by the uplink's thread only
  Delivery delivery_;
  UplinkCounts uplink_counts_;
  CollectionCounts collection_counts_;
  const OwnCounterset own_counters_ = MakeOwnCounters(
      {.delivery = &delivery_,
       .uplink = &uplink_counts_,
       .collections = &collection_counts_,
       .certificate_seconds_left = [this] {
         return SecondsLeft(identity_->certificate(), Clock::Real().Now());
       }});
  std::unique_ptr<Machines> machines_;
  std::unique_ptr<PlanInForce>
      plan_;  // used by the uplink's thread while it runs
  std::unique_ptr<Uplink> uplink_;
};

absl::StatusOr<std::unique_ptr<Capture>> OpenCapture(const Config& config) {
  if (config.capture_directory.empty()) return nullptr;
  ASSIGN_OR_RETURN(auto capture,
                   Capture::Open({.directory = config.capture_directory,
                                  .max_bytes = config.capture_bytes,
                                  .machine = config.name,
                                  .operating_system = OperatingSystem()}));
  LogInfo("keeping blocks in ", config.capture_directory);
  return capture;
}

absl::StatusOr<std::unique_ptr<Spool>> OpenSpool(const Config& config) {
  auto spool = Spool::Open({.epoch = RandomEpoch(),
                            .directory = config.state_directory,
                            .max_bytes = config.spool_bytes,
                            .max_age = config.spool_age});
  if (spool.ok()) return spool;
  return absl::Status(
      spool.status().code(),
      absl::StrCat(spool.status().message(),
                   "; the agent keeps its samples in state_directory, which "
                   "must be its own"));
}

absl::StatusOr<Machines::Options> MachinesOf(
    const Config& config, const std::shared_ptr<TlsIdentity>& identity) {
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source,
                   OpenLocalSource(config.perflib_dll, config.root));
  return Machines::Options{
      .own = config.name,
      .own_source = std::move(source),
      .open_remote =
          [dll = config.perflib_dll](const std::string& machine) {
            return OpenRemoteSource(dll, machine);
          },
      .check_name =
          [own = config.name, identity](const std::string& machine) {
            return CertificateNames(own, identity->certificate().names)
                .Check(machine);
          }};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Agent>> Agent::Start(
    const Config& config, std::function<void()> on_stuck) {
  ASSIGN_OR_RETURN(auto callback_threads, CallbackThreads::Start());
  ASSIGN_OR_RETURN(auto identity, TlsIdentity::Load(config.tls, Role::kAgent));
  ASSIGN_OR_RETURN(Machines::Options machines, MachinesOf(config, identity));
  ASSIGN_OR_RETURN(machines.capture, OpenCapture(config));
  std::unique_ptr<Agent> started;
  absl::Status opened;
  RETURN_IF_ERROR(StartThreads([&] {
    auto spool = OpenSpool(config);
    opened = spool.status();
    if (!opened.ok()) return;
    LogInfoOf(config.name, absl::StrCat("collecting from ", config.name));
    started = std::make_unique<RunningAgent>(
        config, std::move(machines), *std::move(spool), std::move(identity),
        std::move(callback_threads), std::move(on_stuck));
  }));
  RETURN_IF_ERROR(opened);
  return started;
}

}  // namespace fleetperf::agent
