#include "aggregator/query/query_service.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "aggregator/access.h"
#include "aggregator/query/explain.h"
#include "aggregator/query/points.h"
#include "aggregator/query/raw_query.h"
#include "base/rpc_error.h"
#include "base/status_macros.h"
#include "base/wakeup.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// More queries at a time wait for these: each may use much memory, until its
// answer is sent.
constexpr int kMaxQueries = 8;
// How long a caller may take to read an answer.
constexpr absl::Duration kAnswerTime = absl::Minutes(2);
// How soon a query that waits notices that its caller is gone.
constexpr absl::Duration kCancelInterval = absl::Milliseconds(200);
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

std::optional<Aggregation> AggregationOf(const v1::QueryRangeRequest& proto) {
  Aggregation aggregation;
  switch (proto.aggregate()) {
    case v1::AGGREGATE_FUNCTION_AUTO:
      aggregation.function = AggregateFunction::kAuto;
      break;
    case v1::AGGREGATE_FUNCTION_AVERAGE:
      aggregation.function = AggregateFunction::kAverage;
      break;
    case v1::AGGREGATE_FUNCTION_SUM:
      aggregation.function = AggregateFunction::kSum;
      break;
    case v1::AGGREGATE_FUNCTION_MINIMUM:
      aggregation.function = AggregateFunction::kMinimum;
      break;
    case v1::AGGREGATE_FUNCTION_MAXIMUM:
      aggregation.function = AggregateFunction::kMaximum;
      break;
    case v1::AGGREGATE_FUNCTION_COUNT:
      aggregation.function = AggregateFunction::kCount;
      break;
    default:
      return std::nullopt;
  }
  for (const int grouping : proto.by()) {
    if (grouping == v1::GROUPING_MACHINE) aggregation.by_machine = true;
    if (grouping == v1::GROUPING_INSTANCE) aggregation.by_instance = true;
  }
  return aggregation;
}

template <typename Request>
void SetRange(const Request& proto, RangeRequest* request) {
  if (proto.has_since()) request->since = fleetperf::FromProto(proto.since());
  if (proto.has_start_time()) {
    request->start = fleetperf::FromProto(proto.start_time());
  }
  if (proto.has_end_time()) {
    request->end = fleetperf::FromProto(proto.end_time());
  }
}

RangeRequest FromProto(const v1::QueryRangeRequest& proto) {
  RangeRequest request{.paths = {proto.paths().begin(), proto.paths().end()},
                       .step = fleetperf::FromProto(proto.step()),
                       .over = FromProto(proto.over()),
                       .top = proto.top(),
                       .aggregation = AggregationOf(proto)};
  SetRange(proto, &request);
  return request;
}

RangeRequest FromProto(const v1::QueryRawRequest& proto) {
  RangeRequest request{.paths = {proto.paths().begin(), proto.paths().end()}};
  SetRange(proto, &request);
  return request;
}

template <typename Parts>
void SetSeries(uint32_t id, const v1::Series& series, Parts* part) {
  *part->mutable_series() = series;
  part->mutable_series()->set_id(id);
}

// Ends a call whose answer is not taken in time: its place is wanted.
class AnswerTimer {
 public:
  explicit AnswerTimer(grpc::ServerContext* context)
      : thread_([this, context] {
          if (!sent_.WaitForNotificationWithTimeout(kAnswerTime)) {
            context->TryCancel();
          }
        }) {}
  ~AnswerTimer() {
    sent_.Notify();
    thread_.join();
  }

 private:
  absl::Notification sent_;
  std::thread thread_;
};

// Room for some queries. Thread-safe.
class QuerySlots {
 public:
  // A place in it, given back when it is destroyed.
  class Slot {
   public:
    explicit Slot(QuerySlots* slots) : slots_(*slots) {}
    ~Slot() { slots_.Leave(); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    QuerySlots& slots_;
  };

  // Waits until there is room. Nothing if the caller is gone.
  std::unique_ptr<Slot> Enter(const grpc::ServerContext& context) {
    const auto is_free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return running_ < kMaxQueries;
    };
    absl::MutexLock lock(&mutex_);
    while (!left_.Await(&mutex_, kCancelInterval, is_free)) {
      if (context.IsCancelled()) return nullptr;
    }
    ++running_;
    return std::make_unique<Slot>(this);
  }

 private:
  void Leave() {
    absl::MutexLock lock(&mutex_);
    --running_;
    left_.Notify();
  }

  absl::Mutex mutex_;
  Wakeup left_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
};

class QueryService : public v1::QueryService::Service {
 public:
  QueryService(Store* store, MachineNow now_of)
      : store_(*store), now_of_(std::move(now_of)) {}

  grpc::Status QueryRange(
      grpc::ServerContext* context, const v1::QueryRangeRequest* request,
      grpc::ServerWriter<v1::QueryRangeResponse>* writer) override {
    const auto slot = Admit(*context);
    if (!slot.ok()) return RpcFromStatus(slot.status());
    const auto results = RunRangeQuery(FromProto(*request), store_, now_of_);
    if (!results.ok()) return RpcFromStatus(results.status());
    const AnswerTimer timer(context);
    uint32_t id = 0;
    for (const SeriesResult& result : *results) {
      if (!Write(++id, result, writer)) break;  // the client is gone
    }
    return grpc::Status::OK;
  }

  grpc::Status QueryRaw(
      grpc::ServerContext* context, const v1::QueryRawRequest* request,
      grpc::ServerWriter<v1::QueryRawResponse>* writer) override {
    const auto slot = Admit(*context);
    if (!slot.ok()) return RpcFromStatus(slot.status());
    const auto results = RunRawQuery(FromProto(*request), store_, now_of_);
    if (!results.ok()) return RpcFromStatus(results.status());
    const AnswerTimer timer(context);
    uint32_t id = 0;
    for (const RawSeries& result : *results) {
      if (!Write(++id, result, writer)) break;
    }
    return grpc::Status::OK;
  }

  grpc::Status ExplainValue(grpc::ServerContext* context,
                            const v1::ExplainValueRequest* request,
                            v1::ExplainValueResponse* response) override {
    std::optional<absl::Time> time;
    if (request->has_time()) time = fleetperf::FromProto(request->time());
    const auto slot = Admit(*context);
    if (!slot.ok()) return RpcFromStatus(slot.status());
    auto explained = RunExplain(request->path(), time, store_, now_of_);
    if (!explained.ok()) return RpcFromStatus(explained.status());
    *response = *std::move(explained);
    return grpc::Status::OK;
  }

 private:
  // A slot if the caller may ask, when there is room.
  absl::StatusOr<std::unique_ptr<QuerySlots::Slot>> Admit(
      const grpc::ServerContext& context) {
    RETURN_IF_ERROR(
        CheckAccess(context, {Role::kReader, Role::kOperator}).status());
    auto slot = slots_.Enter(context);
    if (slot == nullptr) return absl::CancelledError("the caller is gone");
    return slot;
  }

  static bool Write(uint32_t id, const SeriesResult& result,
                    grpc::ServerWriter<v1::QueryRangeResponse>* writer) {
    v1::QueryRangeResponse response;
    SetSeries(id, result.series, &response);
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

  static bool Write(uint32_t id, const RawSeries& result,
                    grpc::ServerWriter<v1::QueryRawResponse>* writer) {
    v1::QueryRawResponse response;
    SetSeries(id, result.series, &response);
    if (!writer->Write(response)) return false;
    for (absl::Span<const RawSample> rest = result.samples; !rest.empty();) {
      const auto part =
          rest.subspan(0, std::min(rest.size(), kMaxPointsPerMessage));
      rest.remove_prefix(part.size());
      v1::RawSamples* samples = response.mutable_samples();
      samples->Clear();
      samples->set_series(id);
      for (const RawSample& sample : part) {
        *samples->add_samples() = ToProto(sample);
      }
      if (!writer->Write(response)) return false;
    }
    return true;
  }

  Store& store_;
  const MachineNow now_of_;
  QuerySlots slots_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeQueryService(Store* store,
                                                MachineNow now_of) {
  return std::make_unique<QueryService>(store, std::move(now_of));
}

}  // namespace fleetperf::aggregator
