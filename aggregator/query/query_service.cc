#include "aggregator/query/query_service.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "aggregator/access.h"
#include "aggregator/query/points.h"
#include "base/rpc_error.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// More queries at a time wait for these: each may use much memory.
constexpr int kMaxQueries = 4;
// Points in one message.
constexpr size_t kMaxPointsPerMessage = 4096;

Over FromProto(v1::Over over) {
  switch (over) {
    case v1::OVER_AVERAGE:
      return Over::kAverage;
    case v1::OVER_MINIMUM:
      return Over::kMinimum;
    case v1::OVER_MAXIMUM:
      return Over::kMaximum;
    case v1::OVER_LAST:
      return Over::kLast;
    case v1::OVER_SUM:
      return Over::kSum;
    default:
      return Over::kFormula;
  }
}

RangeRequest FromProto(const v1::QueryRangeRequest& proto) {
  RangeRequest request{.paths = {proto.paths().begin(), proto.paths().end()},
                       .step = fleetperf::FromProto(proto.step()),
                       .over = FromProto(proto.over()),
                       .top = proto.top()};
  if (proto.has_since()) request.since = fleetperf::FromProto(proto.since());
  if (proto.has_start_time()) {
    request.start = fleetperf::FromProto(proto.start_time());
  }
  if (proto.has_end_time()) {
    request.end = fleetperf::FromProto(proto.end_time());
  }
  return request;
}

class QueryService : public v1::QueryService::Service {
 public:
  QueryService(Store* store, MachineNow now_of)
      : store_(*store), now_of_(std::move(now_of)) {}

  grpc::Status QueryRange(
      grpc::ServerContext* context, const v1::QueryRangeRequest* request,
      grpc::ServerWriter<v1::QueryRangeResponse>* writer) override {
    const auto peer = CheckAccess(*context, {Role::kReader, Role::kOperator});
    if (!peer.ok()) return RpcFromStatus(peer.status());
    const auto results = Run(FromProto(*request));
    if (!results.ok()) return RpcFromStatus(results.status());
    uint32_t id = 0;
    for (const SeriesResult& result : *results) {
      if (!Write(++id, result, writer)) break;  // the client is gone
    }
    return grpc::Status::OK;
  }

 private:
  absl::StatusOr<std::vector<SeriesResult>> Run(const RangeRequest& request) {
    const auto is_free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return running_ < kMaxQueries;
    };
    mutex_.LockWhen(absl::Condition(&is_free));
    ++running_;
    mutex_.Unlock();
    auto results = RunRangeQuery(request, store_, now_of_);
    absl::MutexLock lock(&mutex_);
    --running_;
    return results;
  }

  static bool Write(uint32_t id, const SeriesResult& result,
                    grpc::ServerWriter<v1::QueryRangeResponse>* writer) {
    v1::QueryRangeResponse response;
    *response.mutable_series() = result.series;
    response.mutable_series()->set_id(id);
    if (!writer->Write(response)) return false;
    for (absl::Span<const Point> rest = result.points; !rest.empty();) {
      const auto part =
          rest.subspan(0, std::min(rest.size(), kMaxPointsPerMessage));
      rest.remove_prefix(part.size());
      *response.mutable_points() = ToProto(id, part);
      if (!writer->Write(response)) return false;
    }
    return true;
  }

  Store& store_;
  const MachineNow now_of_;
  absl::Mutex mutex_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeQueryService(Store* store,
                                                MachineNow now_of) {
  return std::make_unique<QueryService>(store, std::move(now_of));
}

}  // namespace fleetperf::aggregator
