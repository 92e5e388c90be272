#include "agent/agent.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "agent/collect/catalogue.h"
#include "agent/collect/collection.h"
#include "agent/collect/registrations.h"
#include "agent/deliver/uplink.h"
#include "agent/source/local.h"
#include "base/os.h"
#include "base/status_macros.h"

namespace fleetperf::agent {
namespace {

uint64_t RandomEpoch() {
  absl::BitGen random;
  return absl::Uniform<uint64_t>(random);
}

void LogReports(const std::vector<QueryReport>& reports) {
  for (const QueryReport& report : reports) {
    if (!report.error.empty()) {
      spdlog::warn("queries[{}]: {}", report.query, report.error);
    }
  }
}

class RunningAgent : public Agent {
 public:
  RunningAgent(const Config& config, std::unique_ptr<Source> source,
               std::vector<perflib::CountersetRegistration> registrations,
               std::unique_ptr<Capture> capture,
               std::shared_ptr<grpc::ChannelCredentials> credentials)
      : config_(config),
        source_(std::move(source)),
        delivery_({.epoch = RandomEpoch(),
                   .batch_period = config.batch_period,
                   .spool_bytes = config.spool_bytes}) {
    HashedCatalogue catalogue = MakeCatalogue(registrations);
    collection_ = std::make_unique<Collection>(
        Collection::Options{.machine = config.name,
                            .source = source_.get(),
                            .delivery = &delivery_,
                            .registrations = std::move(registrations),
                            .capture = std::move(capture)});
    Apply(config.plan);
    uplink_ = std::make_unique<Uplink>(Uplink::Options{
        .aggregators = config.aggregators,
        .credentials = std::move(credentials),
        .agent = config.name,
        .operating_system = OperatingSystem(),
        .labels = config.labels,
        .delivery = &delivery_,
        .catalogue = std::make_shared<const v1::Catalogue>(
            std::move(catalogue.catalogue)),
        .catalogue_hash = std::move(catalogue.hash),
        .enumerate_instances =
            [this](const std::string& machine, const perflib::Guid& guid) {
              return EnumerateInstances(machine, guid);
            },
        .apply_plan = [this](const v1::Plan* plan) { return ApplyPlan(plan); },
    });
  }

  ~RunningAgent() override {
    collection_.reset();
    delivery_.Flush();
    uplink_.reset();
  }

 private:
  absl::StatusOr<std::vector<perflib::InstanceName>> EnumerateInstances(
      const std::string& machine, const perflib::Guid& counterset) {
    if (!machine.empty() && machine != config_.name) {
      return absl::NotFoundError(
          absl::StrCat("this agent does not collect from ", machine));
    }
    ASSIGN_OR_RETURN(const std::string bytes,
                     source_->EnumerateCounterSetInstances(counterset));
    return perflib::ReadInstanceList(bytes);
  }

  // A plan that is wrong leaves the one before it in force.
  v1::PlanReport ApplyPlan(const v1::Plan* proto) {
    v1::PlanReport report;
    Plan plan = config_.plan;
    if (proto != nullptr) {
      report.set_version(proto->version());
      auto from_proto = PlanFromProto(*proto);
      if (!from_proto.ok()) {
        spdlog::warn("the aggregator's plan {} is wrong: {}", proto->version(),
                     std::string(from_proto.status().message()));
        report.add_queries()->set_error(
            std::string(from_proto.status().message()));
        return report;
      }
      plan = *std::move(from_proto);
    }
    if (plan != applied_) Apply(plan);
    for (const QueryReport& query : reports_) {
      v1::QueryReport* to = report.add_queries();
      to->set_query(static_cast<uint32_t>(query.query));
      to->set_counterset(query.counterset);
      to->set_error(query.error);
    }
    return report;
  }

  // Called by the constructor, then by the uplink's thread.
  void Apply(const Plan& plan) {
    reports_ = collection_->Apply(plan);
    applied_ = plan;
    LogReports(reports_);
  }

  const Config config_;
  const std::unique_ptr<Source> source_;
  Delivery delivery_;
  std::unique_ptr<Collection> collection_;
  Plan applied_;
  std::vector<QueryReport> reports_;
  std::unique_ptr<Uplink> uplink_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Agent>> Agent::Start(const Config& config) {
  ASSIGN_OR_RETURN(auto credentials, ClientCredentials(config.tls));
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source,
                   OpenLocalSource(RaiseOpenFileLimit()));
  std::vector<std::string> warnings;
  ASSIGN_OR_RETURN(auto registrations, LoadRegistrations(*source, &warnings));
  for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  std::unique_ptr<Capture> capture;
  if (!config.capture_directory.empty()) {
    ASSIGN_OR_RETURN(capture,
                     Capture::Open({.directory = config.capture_directory,
                                    .max_bytes = config.capture_bytes,
                                    .machine = config.name,
                                    .operating_system = OperatingSystem()}));
    spdlog::info("keeping blocks in {}", config.capture_directory);
  }
  spdlog::info("collecting from {}: {} countersets", config.name,
               registrations.size());
  return std::make_unique<RunningAgent>(
      config, std::move(source), std::move(registrations), std::move(capture),
      std::move(credentials));
}

}  // namespace fleetperf::agent
