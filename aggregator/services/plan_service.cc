#include <grpcpp/server_context.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/plan/planner.h"
#include "aggregator/query/explain_miss.h"
#include "aggregator/query/expression.h"
#include "aggregator/query/fleet.h"
#include "aggregator/query/request_limits.h"
#include "aggregator/services/meanwhile.h"
#include "aggregator/services/services.h"
#include "aggregator/store/store.h"
#include "base/log.h"
#include "base/rpc/rpc_error.h"
#include "base/server/access.h"
#include "base/server/working_call.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"
#include "base/text/printable.h"
#include "base/wakeup.h"
#include "fleetperf/v1/plan.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The limit of concurrent calls. Each call keeps a thread, and changes the
// plans of agents.
constexpr int kMaxCalls = 16;
constexpr absl::Duration kMaxDuration = absl::Hours(1);
// The interval of checks for cancellation and for the first samples.
constexpr absl::Duration kCheckInterval = absl::Milliseconds(200);

absl::Status CheckDuration(absl::Duration duration) {
  if (duration >= absl::Seconds(1) && duration <= kMaxDuration) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "a duration of ", absl::FormatDuration(duration),
      " is not between 1s and ", absl::FormatDuration(kMaxDuration)));
}

class PlanService : public v1::PlanService::Service {
 public:
  PlanService(Store* store, Fleet* fleet, Ingest* ingest, Planner* planner)
      : store_(*store), fleet_(*fleet), ingest_(*ingest), planner_(*planner) {}

  grpc::Status CollectMeanwhile(
      grpc::ServerContext* context, const v1::CollectMeanwhileRequest* request,
      grpc::ServerWriter<v1::CollectMeanwhileResponse>* writer) override {
    const auto peer = CheckAccess(*context, {Role::kOperator});
    if (!peer.ok()) {
      return RpcFromStatus(absl::PermissionDeniedError(
          absl::StrCat(peer.status().message(),
                       "; name another with --certificate and --key")));
    }
    if (!Enter()) {
      return RpcFromStatus(absl::ResourceExhaustedError(
          absl::StrCat("the limit of ", kMaxCalls,
                       " concurrent collections is reached; try again later")));
    }
    WorkingCall call(context);
    const absl::Status status = Collect(&call, *request, writer);
    Leave();
    return RpcFromStatus(status);
  }

 private:
  bool Enter() {
    absl::MutexLock lock(&mutex_);
    if (calls_ == kMaxCalls) return false;
    ++calls_;
    return true;
  }
  void Leave() {
    absl::MutexLock lock(&mutex_);
    --calls_;
  }

  // Returns the paths of the request and of its expressions.
  absl::StatusOr<std::vector<std::string>> PathsOf(
      const v1::CollectMeanwhileRequest& request,
      const std::vector<std::string>& known) const {
    std::vector<std::string> paths;
    for (const std::string& text : request.paths()) {
      ASSIGN_OR_RETURN(
          const Expression expression,
          ParseExpression(text, known, CountersOf(store_.directory())));
      paths.insert(paths.end(), expression.paths.begin(),
                   expression.paths.end());
    }
    return paths;
  }

  absl::Status Collect(
      WorkingCall* call, const v1::CollectMeanwhileRequest& request,
      grpc::ServerWriter<v1::CollectMeanwhileResponse>* writer) {
    RETURN_IF_ERROR(CheckPathsAndFilter(request));
    const absl::Duration duration = FromProto(request.duration());
    RETURN_IF_ERROR(CheckDuration(duration));
    const absl::Duration interval = request.has_interval()
                                        ? FromProto(request.interval())
                                        : absl::Seconds(1);
    RETURN_IF_ERROR(CheckInterval(interval));
    const std::vector<std::string> known = fleet_.CountersetNames();
    ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                     PathsOf(request, known));
    const MachineFilter machines =
        MachineFilter::Of(request, store_.directory());
    RETURN_IF_ERROR(machines.CheckMatches());
    ASSIGN_OR_RETURN(PathSet paths, PathSet::Parse(texts, known));
    paths.LimitTo(machines);
    RETURN_IF_ERROR(CheckPathCount(texts.size()));
    for (const std::string& text : texts) {
      RETURN_IF_ERROR(CheckNotCancelled([&] { return call->IsCancelled(); }));
      ASSIGN_OR_RETURN(PathSet alone, PathSet::Parse({text}, known));
      alone.LimitTo(machines);
      if (fleet_.Select(alone).empty()) {
        return NotInCatalogues(text, &fleet_, machines);
      }
    }
    ASSIGN_OR_RETURN(
        Meanwhile meanwhile,
        PlanMeanwhile(
            fleet_.Select(paths), interval, [this](const std::string& name) {
              const auto connection = ingest_.FindConnection(name);
              return connection.has_value() && connection->agent == name;
            }));
    LogInfo("collecting ",
            Excerpt(Printable(absl::StrJoin(meanwhile.countersets, ", "))),
            " for ", absl::FormatDuration(duration),
            "; machines: ", meanwhile.queries.size());
    v1::CollectMeanwhileResponse response;
    response.set_machines(static_cast<uint32_t>(meanwhile.queries.size()));
    response.set_away_machines(static_cast<uint32_t>(meanwhile.away_machines));
    response.mutable_countersets()->Assign(meanwhile.countersets.begin(),
                                           meanwhile.countersets.end());
    const auto addition = planner_.Add(std::move(meanwhile.queries));
    return Hold(call, paths, duration, std::move(response), writer);
  }

  // Keeps the addition until the caller disconnects or `duration` has passed.
  // Reports when the first samples are stored.
  absl::Status Hold(WorkingCall* call, const PathSet& paths,
                    absl::Duration duration,
                    v1::CollectMeanwhileResponse response,
                    grpc::ServerWriter<v1::CollectMeanwhileResponse>* writer) {
    const absl::Duration end = ingest_.Now() + duration;
    bool has_reported = false;
    while (!call->IsCancelled() && ingest_.Now() < end) {
      const bool ready =
          response.ready() || paths.Select(store_.directory()).ok();
      if (!has_reported || ready != response.ready()) {
        response.set_ready(ready);
        has_reported = true;
        RETURN_IF_ERROR(call->Write(response, writer));
      }
      absl::MutexLock lock(&mutex_);
      never_.Await(&mutex_, kCheckInterval, [] { return false; });
    }
    if (call->IsCancelled()) return absl::CancelledError("cancelled");
    return absl::OkStatus();
  }

  Store& store_;
  Fleet& fleet_;
  Ingest& ingest_;
  Planner& planner_;
  absl::Mutex mutex_;
  Wakeup never_{&ingest_.clock()};  // never notified
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<grpc::Service> MakePlanService(Store* store, Fleet* fleet,
                                               Ingest* ingest,
                                               Planner* planner) {
  return std::make_unique<PlanService>(store, fleet, ingest, planner);
}

}  // namespace fleetperf::aggregator
