#include "tests/bench/fleet_visitors.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/bench/workload_agent.h"

namespace fleetperf::bench {
namespace {

constexpr size_t kVisitors = 10;
constexpr uint64_t kRoundsUntilReturn = 10;
constexpr absl::Duration kStay = absl::Seconds(10);

}  // namespace

FleetVisitors::FleetVisitors(int series, FleetperfProcess* server)
    : server_(*server), workload_(series), thread_([this] { Run(); }) {}

FleetVisitors::~FleetVisitors() {
  is_over_.Notify();
  thread_.join();
}

absl::Status FleetVisitors::status() const {
  absl::MutexLock lock(&mutex_);
  return status_;
}

void FleetVisitors::Run() {
  do {
    const absl::Status replaced = ReplaceAll();
    if (!replaced.ok()) {
      absl::MutexLock lock(&mutex_);
      status_ = replaced;
      return;
    }
  } while (!is_over_.WaitForNotificationWithTimeout(kStay));
}

absl::Status FleetVisitors::ReplaceAll() {
  ++round_;
  RETURN_IF_ERROR(ReplacePlan());
  RETURN_IF_ERROR(ReplaceAgents());
  watch_.reset();
  ASSIGN_OR_RETURN(watch_,
                   FleetWatch::Start(server_.address(), server_.reader()));
  return absl::OkStatus();
}

absl::Status FleetVisitors::ReplacePlan() {
  return server_.Reload(absl::StrCat(
      "plans:\n  - name: round-", round_,
      "\n    queries:\n      - counterset: Process\n        interval: ",
      1 + round_ % kRoundsUntilReturn, "s\n"));
}

absl::Status FleetVisitors::ReplaceAgents() {
  for (const Visitor& visitor : visitors_) {
    RETURN_IF_ERROR(visitor.stream->AwaitAcknowledged());
  }
  visitors_.clear();
  for (size_t i = 0; i < kVisitors; ++i) {
    Visitor& visitor = visitors_.emplace_back();
    visitor.name =
        absl::StrCat("visitor-", round_ % kRoundsUntilReturn, "-", i);
    TlsFiles& tls = certificates_[visitor.name];
    if (tls.certificate.empty()) {
      ASSIGN_OR_RETURN(tls, server_.Issue(Role::kAgent, {visitor.name}));
    }
    ASSIGN_OR_RETURN(const auto credentials, ClientCredentials(tls));
    visitor.stream = std::make_unique<AgentStream>(
        server_.address(), credentials, visitor.name, /*epoch=*/round_,
        [](uint64_t) {});
    RETURN_IF_ERROR(visitor.stream->AwaitWelcome());
    SendFirst(i, &visitor);
  }
  return absl::OkStatus();
}

void FleetVisitors::SendFirst(size_t number, Visitor* visitor) {
  const Workload workload =
      workload_.MakeWorkload(kVisitors, /*ticks=*/0, absl::Now());
  v1::BatchContent content =
      WorkloadAgent(workload.make_machine(number)).NextBatch(/*ticks=*/1);
  v1::Definitions* definitions = content.mutable_definitions();
  definitions->mutable_machines(0)->set_name(visitor->name);
  for (v1::InstanceDefinition& instance : *definitions->mutable_instances()) {
    if (!instance.name().empty()) {
      instance.set_name(absl::StrCat(instance.name(), " of ", round_));
    }
  }
  v1::CollectRequest request;
  *request.mutable_batch() = PackBatch(content, round_, /*sequence=*/1);
  visitor->stream->Send(std::move(request));
}

}  // namespace fleetperf::bench
