#include <grpcpp/server_context.h>

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator/ingest/expected_machines.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/maintenance/clock_guard.h"
#include "aggregator/samples/machine_name.h"
#include "aggregator/services/services.h"
#include "aggregator/store/store.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "base/rpc/rpc_error.h"
#include "base/server/access.h"
#include "base/server/working_call.h"
#include "base/text/excerpt.h"
#include "base/text/printable.h"
#include "base/tls/certificate_info.h"
#include "base/version.h"
#include "fleetperf/v1/administration.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The interval of progress messages during a backup.
constexpr uint64_t kBytesBetweenResponses = 64 << 20;
constexpr int kMaxForgotten = 1000;
constexpr size_t kMaxNamed = 10;  // machines in a status

// Returns the canonical names of the machines to forget.
absl::StatusOr<std::set<std::string>> NamesIn(
    const v1::ForgetMachinesRequest& request) {
  if (request.machines().empty() || request.machines_size() > kMaxForgotten) {
    return absl::InvalidArgumentError(absl::StrCat(
        "name at least one machine to forget, and at most ", kMaxForgotten));
  }
  std::set<std::string> names;
  for (const std::string& machine : request.machines()) {
    names.insert(CanonicalName(machine));
  }
  return names;
}

class AdministrationService : public v1::AdministrationService::Service {
 public:
  explicit AdministrationService(const AdministrationParts& parts)
      : name_(parts.name),
        own_machine_(CanonicalName(parts.name)),
        others_(parts.others),
        store_(*parts.store),
        ingest_(*parts.ingest),
        expected_(*parts.expected),
        guard_(*parts.guard),
        clock_(*parts.clock),
        make_login_link_(parts.make_login_link),
        login_link_life_(parts.login_link_life),
        started_(clock_.Monotonic()) {}

  grpc::Status GetStatus(grpc::ServerContext* context,
                         const v1::GetStatusRequest*,
                         v1::GetStatusResponse* response) override {
    const auto peer = CheckAccess(*context, {Role::kReader, Role::kOperator});
    if (!peer.ok()) return RpcFromStatus(peer.status());
    response->set_version(kVersion);
    *response->mutable_time() = ToProto(clock_.Now());
    *response->mutable_uptime() = ToProto(clock_.Monotonic() - started_);
    if (const auto hold = guard_.hold()) {
      *response->mutable_clock_hold()->mutable_jump() = ToProto(hold->jump);
      *response->mutable_clock_hold()->mutable_left() = ToProto(hold->left);
    }
    response->set_name(name_);
    DescribeFleet(response);
    SetOthers(others_, response);
    return grpc::Status::OK;
  }

  grpc::Status ConfirmClock(grpc::ServerContext* context,
                            const v1::ConfirmClockRequest*,
                            v1::ConfirmClockResponse* response) override {
    const auto peer = CheckAccess(*context, {Role::kOperator});
    if (!peer.ok()) return RpcFromStatus(peer.status());
    response->set_was_held(guard_.Confirm());
    *response->mutable_time() = ToProto(clock_.Now());
    return grpc::Status::OK;
  }

  grpc::Status ForgetMachines(grpc::ServerContext* context,
                              const v1::ForgetMachinesRequest* request,
                              v1::ForgetMachinesResponse* response) override {
    const auto peer = CheckAccess(*context, {Role::kOperator});
    if (!peer.ok()) return RpcFromStatus(peer.status());
    const auto names = NamesIn(*request);
    if (!names.ok()) return RpcFromStatus(names.status());
    if (names->contains(own_machine_)) {
      return RpcFromStatus(absl::FailedPreconditionError(
          absl::StrCat(own_machine_,
                       " is the machine of the aggregator's own counters, "
                       "which would be hidden")));
    }
    for (const std::string& name : *names) {
      Describe(name, response->add_machines());
    }
    const absl::Status status =
        ingest_.ForgetMachines(*names, request->dry_run());
    if (status.ok() && !request->dry_run()) {
      LogInfo(absl::StrJoin(peer->names, ", "), " made the aggregator forget ",
              Excerpt(Printable(absl::StrJoin(*names, ", ")), kMaxErrorText));
    }
    return RpcFromStatus(status);
  }

  grpc::Status MakeLoginLink(grpc::ServerContext* context,
                             const v1::MakeLoginLinkRequest*,
                             v1::MakeLoginLinkResponse* response) override {
    const auto peer = CheckAccess(*context, {Role::kReader, Role::kOperator});
    if (!peer.ok()) return RpcFromStatus(peer.status());
    if (!make_login_link_) {
      return RpcFromStatus(absl::FailedPreconditionError(
          "the aggregator has no page; set web.listen in its configuration"));
    }
    const auto certificate = CertificateOf(*context);
    if (!certificate.ok()) return RpcFromStatus(certificate.status());
    auto url = make_login_link_(*certificate);
    if (!url.ok()) return RpcFromStatus(url.status());
    LogInfo("made a login link for ", absl::StrJoin(peer->names, ", "));
    response->set_url(*std::move(url));
    *response->mutable_valid() = ToProto(login_link_life_);
    return grpc::Status::OK;
  }

  grpc::Status Backup(grpc::ServerContext* context,
                      const v1::BackupRequest* request,
                      grpc::ServerWriter<v1::BackupResponse>* writer) override {
    const auto peer = CheckAccess(*context, {Role::kOperator});
    if (!peer.ok()) return RpcFromStatus(peer.status());
    WorkingCall call(context);
    uint64_t reported = 0;
    v1::BackupResponse response;
    const absl::Status status = store_.Backup(
        request->directory(), [&](uint64_t bytes, uint64_t total) {
          response.set_bytes(bytes);
          response.set_total_bytes(total);
          if (call.IsCancelled()) {
            return absl::CancelledError("the caller disconnected");
          }
          if (bytes - reported < kBytesBetweenResponses) {
            return absl::OkStatus();
          }
          reported = bytes;
          return call.Write(response, writer);
        });
    const std::string directory = Excerpt(Printable(request->directory()));
    if (status.ok()) {
      // The backup is complete, also if the caller does not read this.
      call.Write(response, writer).IgnoreError();
      LogInfo("backed up ", response.bytes(), " bytes to ", directory);
    } else {
      LogWarning("no backup to ", directory, ": ",
                 Excerpt(Printable(status.message()), kMaxErrorText));
    }
    return RpcFromStatus(status);
  }

 private:
  void DescribeFleet(v1::GetStatusResponse* response) const {
    response->set_machines(
        static_cast<uint32_t>(store_.directory().registered()));
    response->set_expected_machines(
        static_cast<uint32_t>(expected_.names()->size()));
    const std::vector<std::string> missing = expected_.Missing();
    response->set_missing_machines(static_cast<uint32_t>(missing.size()));
    for (size_t i = 0; i < missing.size() && i < kMaxNamed; ++i) {
      response->add_missing(missing[i]);
    }
    const std::vector<std::string> conflicting = ingest_.conflicting_agents();
    response->set_conflicting_machines(
        static_cast<uint32_t>(conflicting.size()));
    for (size_t i = 0; i < conflicting.size() && i < kMaxNamed; ++i) {
      response->add_conflicting(conflicting[i]);
    }
  }

  // Describes a machine before it is forgotten. One that does not exist fails
  // the call.
  void Describe(const std::string& name, v1::ForgottenMachine* machine) const {
    machine->set_name(name);
    const auto stored = store_.FindMachine(name);
    if (stored.has_value()) machine->set_agent(stored->machine.agent());
    if (const auto newest = store_.directory().NewestSample(name)) {
      *machine->mutable_newest_sample() = ToProto(*newest);
    }
    machine->set_expected(expected_.names()->contains(name));
  }

  const std::string name_;
  const std::string own_machine_;  // the same name, canonical
  const std::vector<OtherAggregator> others_;
  Store& store_;
  Ingest& ingest_;
  const ExpectedMachines& expected_;
  ClockGuard& guard_;
  const Clock& clock_;
  const std::function<absl::StatusOr<std::string>(const CertificateInfo&)>
      make_login_link_;
  const absl::Duration login_link_life_;
  const absl::Duration started_;  // Clock::Monotonic()
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdministrationService(
    const AdministrationParts& parts) {
  return std::make_unique<AdministrationService>(parts);
}

}  // namespace fleetperf::aggregator
