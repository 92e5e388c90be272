#include "agent/check.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "agent/certificate_names.h"
#include "agent/collect/collector.h"
#include "agent/collect/registrations.h"
#include "agent/collect/resolve.h"
#include "agent/deliver/delivery.h"
#include "agent/deliver/uplink.h"
#include "agent/own_counters.h"
#include "agent/source/combined_source.h"
#include "agent/source/missing.h"
#include "agent/source/sources.h"
#include "base/os/files.h"
#include "base/os/native_path.h"
#include "base/os/os.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_deadline.h"
#include "base/rpc/rpc_error.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/text/units.h"
#include "base/tls/tls_identity.h"
#include "base/version.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace fleetperf::agent {
namespace {

using perflib::CountersetRegistration;
using perflib::RegistrationRequest;

// The time for a block: a provider may have to be loaded first.
constexpr absl::Duration kPatience = absl::Seconds(10);
// The time for a list of countersets: each provider that hangs takes ten
// seconds.
constexpr absl::Duration kListPatience = absl::Minutes(2);

class Checker {
 public:
  explicit Checker(const Config& config) : config_(config), plan_(config.plan) {
    plan_.NameMachines(config.name);
  }

  absl::Status Run() {
    absl::PrintF("fleetperf-agent %s as %s on %s\n", kVersion, config_.name,
                 OperatingSystem());
    CheckCertificate();
    for (const std::string& address : config_.aggregators) {
      CheckAggregator(address);
    }
    CheckStateDirectory();
    for (const std::string& machine : MachineNames()) CheckMachine(machine);
    if (problems_ == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(problems_, problems_ == 1 ? " problem" : " problems"));
  }

 private:
  void Problem(absl::string_view text) {
    ++problems_;
    absl::PrintF("  PROBLEM  %s\n", Printable(text));
  }

  void CheckCertificate() {
    absl::PrintF("\ncertificate %s\n", config_.tls.certificate);
    auto identity = TlsIdentity::Load(config_.tls, Role::kAgent);
    if (!identity.ok()) return Problem(identity.status().message());
    identity_ = *std::move(identity);
    const CertificateInfo certificate = identity_->certificate();
    names_.emplace(config_.name, certificate.names);
    absl::PrintF("  for %s, until %s\n", absl::StrJoin(names_->all(), ", "),
                 FormatUtc(certificate.not_after));
    CheckName(config_.name);
  }

  // Reports nothing if the certificate could not be read: that is one problem
  // already.
  void CheckName(const std::string& machine) {
    if (!names_.has_value()) return;
    const absl::Status status = names_->Check(machine);
    if (!status.ok()) Problem(status.message());
  }

  // Asks the aggregator for its health, with the agent's certificate.
  void CheckAggregator(const std::string& address) {
    if (identity_ == nullptr) return;  // a problem of the certificate
    absl::PrintF("\naggregator %s\n", address);
    constexpr absl::Duration kDeadline = absl::Seconds(5);
    grpc::ClientContext context;
    context.set_deadline(RpcDeadline(kDeadline));
    ::grpc::health::v1::HealthCheckResponse response;
    const grpc::Status status =
        ::grpc::health::v1::Health::NewStub(
            MakeChannel(address, identity_->ForClient()))
            ->Check(&context, {}, &response);
    if (!status.ok()) {
      return Problem(StatusFromRpc(status, address).message());
    }
    absl::PrintF("  reached\n");
  }

  // Creates a file as the agent would, and removes it.
  void CheckStateDirectory() {
    const std::string& directory = config_.state_directory;
    absl::PrintF("\nstate_directory %s\n", directory);
    const bool existed = FileExists(directory);
    const std::string file = ResolvePath(directory, "check");
    absl::Status status = MakeDirectories(directory);
    if (status.ok()) status = WriteFile(file, "");
    std::error_code ignored;
    std::filesystem::remove(NativePath(file), ignored);
    // Another user may run the agent.
    if (!existed) std::filesystem::remove(NativePath(directory), ignored);
    if (!status.ok()) return Problem(status.message());
    absl::PrintF("  writable\n");
  }

  // Returns the agent's own machine first, then the remote machines of the
  // plan.
  std::vector<std::string> MachineNames() const {
    std::set<std::string> remote;
    for (const PlannedQuery& query : plan_.queries) {
      remote.insert(query.machines.begin(), query.machines.end());
    }
    remote.erase(config_.name);
    std::vector<std::string> names = {config_.name};
    names.insert(names.end(), remote.begin(), remote.end());
    return names;
  }

  // Opens the machine's source combined with the agent's own counters.
  absl::StatusOr<std::unique_ptr<Source>> OpenOwnSource() {
    ASSIGN_OR_RETURN(auto machines,
                     OpenLocalSource(config_.perflib_dll, config_.root));
    return CombineSources(std::move(machines), MakeOwnSource(&own_counters_));
  }

  void CheckMachine(const std::string& machine) {
    const bool is_own = machine == config_.name;
    absl::PrintF("\nmachine %s\n", machine);
    if (!is_own) CheckName(machine);
    const auto source = is_own ? OpenOwnSource()
                               : OpenRemoteSource(config_.perflib_dll, machine);
    if (!source.ok()) return Problem(source.status().message());
    AwaitList(**source, machine);
    std::vector<std::string> warnings;
    const auto registrations =
        LoadRegistrations(**source, {}, std::atomic<bool>(false), &warnings);
    for (const std::string& warning : warnings) Problem(warning);
    if (!registrations.ok()) return Problem(registrations.status().message());
    for (const CountersetRegistration& registration : *registrations) {
      ListCounterset(**source, registration);
    }
    if (is_own) ListMissing(*registrations);
    TryPlan(**source, machine, *registrations);
  }

  // Waits for the list, so that a provider that hangs hides no other and is
  // named.
  void AwaitList(Source& source, const std::string& machine) {
    std::vector<std::string> wanted;
    for (const PlannedQuery& query : plan_.queries) {
      if (IsFor(query, machine)) wanted.push_back(query.counterset);
    }
    source.Want(wanted);
    source.EnumerateCounterSet().IgnoreError();  // reported by the next one
    source.AwaitList(kListPatience);
  }

  static void ListCounterset(Source& source,
                             const CountersetRegistration& registration) {
    std::string localized;
    const auto bytes = source.QueryCounterSetRegistrationInfo(
        registration.guid, RegistrationRequest::kCountersetName, 0);
    if (bytes.ok()) localized = perflib::ReadString(*bytes).value_or("");
    if (localized == registration.name) localized.clear();
    absl::PrintF("  %-40s %3d counters%s%s\n", Printable(registration.name),
                 registration.counters.size(), localized.empty() ? "" : "  ",
                 Printable(localized));
  }

  static void ListMissing(
      const std::vector<CountersetRegistration>& registrations) {
    for (const WellKnownCounterset& known : WellKnownCountersets()) {
      const bool present =
          std::any_of(registrations.begin(), registrations.end(),
                      [&](const auto& registration) {
                        return registration.name == known.name;
                      });
      if (present) continue;
      absl::PrintF("  missing: %s. %s\n", known.name, known.why_missing);
    }
  }

  // Tries each query of the plan once, each on its own handle.
  void TryPlan(Source& source, const std::string& machine,
               std::vector<CountersetRegistration> registrations) {
    const Resolution resolution =
        DefineAndResolve(source, plan_, machine, &registrations);
    for (const Resolution::Problem& problem : resolution.problems) {
      Problem(
          absl::StrCat(plan_.NameOf(problem.planned), ": ", problem.message));
    }
    for (const std::string& problem : resolution.rule_problems) {
      Problem(problem);
    }
    if (machine == config_.name) ListMissingRights(resolution);
    Dictionary dictionary;
    MachineInstances instances(machine, &dictionary);
    std::map<std::string, bool> countersets;  // whether there are values
    // Counterset and reason.
    std::set<std::pair<std::string, std::string>> limitations;
    for (const ResolvedQuery& query : resolution.queries) {
      const auto has_values = Try(source, query, &instances);
      if (!has_values.ok()) {
        Problem(absl::StrCat(plan_.NameOf(query.planned.front()), " \"",
                             query.registration.name,
                             "\": ", has_values.status().message()));
      }
      countersets[query.registration.name] |= has_values.value_or(true);
      for (Limitation& limitation : source.Limitations()) {
        limitations.emplace(std::move(limitation.counterset),
                            std::move(limitation.reason));
      }
    }
    for (const auto& [counterset, reason] : limitations) {
      absl::PrintF("  limited: %s. %s\n", Printable(counterset),
                   Printable(reason));
    }
    for (const auto& [counterset, has_values] : countersets) {
      if (has_values) continue;
      absl::PrintF("  empty: %s. %s has no values of it at present\n",
                   Printable(counterset), Printable(machine));
    }
  }

  static void ListMissingRights(const Resolution& resolution) {
    std::set<std::string> countersets;
    for (const ResolvedQuery& query : resolution.queries) {
      countersets.insert(query.registration.name);
    }
    for (const std::string& counterset : countersets) {
      const std::string missing = MissingRights(counterset);
      if (missing.empty()) continue;
      absl::PrintF("  limited: %s. %s\n", Printable(counterset), missing);
    }
  }

  // Returns whether there are values.
  static absl::StatusOr<bool> Try(Source& source, const ResolvedQuery& query,
                                  MachineInstances* instances) {
    std::vector<std::string> problems;
    ASSIGN_OR_RETURN(
        const auto collector,
        Collector::Open(&source, 1, {query}, instances, &problems));
    collector->SetPatience(kPatience);
    BlockSamples samples;
    RETURN_IF_ERROR(collector->Collect(&samples, &problems));
    if (samples.queries[0].failed) {
      problems.push_back(FailureText(query.registration, samples.queries[0]));
    }
    if (!problems.empty()) {
      return absl::DataLossError(absl::StrJoin(problems, "; "));
    }
    const std::vector<uint8_t>& present = samples.queries[0].present;
    if (present.empty()) return !samples.queries[0].values.empty();
    return std::find(present.begin(), present.end(), 1) != present.end();
  }

  const Config& config_;
  Plan plan_;
  // Null and nullopt if the certificate cannot be used.
  std::shared_ptr<TlsIdentity> identity_;
  std::optional<CertificateNames> names_;
  int problems_ = 0;
  const Delivery delivery_{Delivery::Options()};  // empty, for the own counters
  const UplinkCounts uplink_counts_;
  const CollectionCounts collection_counts_;
  const OwnCounterset own_counters_ =
      MakeOwnCounters({.delivery = &delivery_,
                       .uplink = &uplink_counts_,
                       .collections = &collection_counts_,
                       .certificate_seconds_left = [] { return 0; }});
};

}  // namespace

absl::Status Check(const Config& config) { return Checker(config).Run(); }

}  // namespace fleetperf::agent
