#include "aggregator/services/query_service.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "aggregator/query/explain.h"
#include "aggregator/query/explain_miss.h"
#include "aggregator/query/path_check.h"
#include "aggregator/query/points.h"
#include "aggregator/query/raw_query.h"
#include "aggregator/rpc/access.h"
#include "base/rpc_error.h"
#include "base/status_macros.h"
#include "base/wakeup.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The limit of concurrent queries. Further queries wait, because each query may
// hold much memory until its answer is sent (QueryLimits::held).
constexpr int kMaxQueries = 8;
// The total time that writes of an answer may wait for the caller, and the
// interval of checks.
constexpr absl::Duration kMaxWait = absl::Minutes(2);
constexpr absl::Duration kWatchInterval = absl::Seconds(1);
// The interval of checks for cancellation while a query waits.
constexpr absl::Duration kCancelInterval = absl::Milliseconds(200);
// The limit of points in one message.
constexpr size_t kMaxPointsPerMessage = 4096;

Over OverFromProto(v1::Over over) {
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
    case v1::AGGREGATE_FUNCTION_P50:
      aggregation.function = AggregateFunction::kP50;
      break;
    case v1::AGGREGATE_FUNCTION_P90:
      aggregation.function = AggregateFunction::kP90;
      break;
    case v1::AGGREGATE_FUNCTION_P95:
      aggregation.function = AggregateFunction::kP95;
      break;
    case v1::AGGREGATE_FUNCTION_P99:
      aggregation.function = AggregateFunction::kP99;
      break;
    default:
      return std::nullopt;
  }
  const auto groups_by = [&](v1::Grouping grouping) {
    return std::count(proto.by().begin(), proto.by().end(), grouping) > 0;
  };
  aggregation.by_machine = groups_by(v1::GROUPING_MACHINE);
  aggregation.by_instance = groups_by(v1::GROUPING_INSTANCE);
  aggregation.by_name = groups_by(v1::GROUPING_NAME);
  aggregation.across_counters =
      groups_by(v1::GROUPING_COUNTERSET) && !groups_by(v1::GROUPING_COUNTER);
  aggregation.labels = {proto.by_labels().begin(), proto.by_labels().end()};
  return aggregation;
}

template <typename Request>
void SetRange(const Request& proto, RangeRequest* request) {
  if (proto.has_since()) request->since = FromProto(proto.since());
  if (proto.has_start_time()) {
    request->start = FromProto(proto.start_time());
  }
  if (proto.has_end_time()) {
    request->end = FromProto(proto.end_time());
  }
}

absl::StatusOr<RangeRequest> RequestFromProto(
    const v1::QueryRangeRequest& proto, const Directory& directory) {
  RangeRequest request;
  request.paths = {proto.paths().begin(), proto.paths().end()};
  request.step = FromProto(proto.step());
  request.over = OverFromProto(proto.over());
  request.choice.top = proto.top();
  request.choice.bottom = proto.bottom();
  request.aggregation = AggregationOf(proto);
  request.machines = MachineFilter::Of(proto, directory);
  if (proto.has_where()) {
    ASSIGN_OR_RETURN(request.choice.where, ConditionFromProto(proto.where()));
  }
  SetRange(proto, &request);
  return request;
}

RangeRequest RequestFromProto(const v1::QueryRawRequest& proto,
                              const Directory& directory) {
  RangeRequest request{.paths = {proto.paths().begin(), proto.paths().end()},
                       .machines = MachineFilter::Of(proto, directory)};
  SetRange(proto, &request);
  return request;
}

template <typename Parts>
void SetSeries(uint32_t id, const v1::Series& series, Parts* part) {
  *part->mutable_series() = series;
  part->mutable_series()->set_id(id);
}

// Writes an answer. Cancels the call if its caller reads too slowly, so that
// waiting queries get its slot. Thread-compatible.
class AnswerWriter {
 public:
  AnswerWriter(grpc::ServerContext* context, const Clock* clock)
      : clock_(*clock),
        ended_(clock),
        watcher_([this, context] { Watch(context); }) {}
  ~AnswerWriter() {
    {
      absl::MutexLock lock(&mutex_);
      done_ = true;
    }
    ended_.Notify();
    watcher_.join();
  }

  // Returns an error if the caller disconnected.
  template <typename Response>
  absl::Status Write(const Response& response,
                     grpc::ServerWriter<Response>* writer) {
    {
      absl::MutexLock lock(&mutex_);
      writing_since_ = clock_.Monotonic();
    }
    const bool written = writer->Write(response);
    absl::MutexLock lock(&mutex_);
    waited_ = Waited();
    writing_since_ = std::nullopt;
    if (written) return absl::OkStatus();
    return absl::CancelledError("the caller disconnected");
  }

 private:
  void Watch(grpc::ServerContext* context) {
    const auto is_done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return done_;
    };
    absl::MutexLock lock(&mutex_);
    while (!ended_.Await(&mutex_, kWatchInterval, is_done)) {
      if (Waited() <= kMaxWait) continue;
      context->TryCancel();
      return;
    }
  }

  // The total time that writes waited for the caller.
  absl::Duration Waited() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!writing_since_.has_value()) return waited_;
    return waited_ + clock_.Monotonic() - *writing_since_;
  }

  const Clock& clock_;
  absl::Mutex mutex_;
  Wakeup ended_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  // Clock::Monotonic().
  std::optional<absl::Duration> writing_since_ ABSL_GUARDED_BY(mutex_);
  absl::Duration waited_ ABSL_GUARDED_BY(mutex_);
  std::thread watcher_;  // last: it uses the other members
};

// Limits concurrent queries to kMaxQueries. Thread-safe.
class QuerySlots {
 public:
  explicit QuerySlots(const Clock* clock) : left_(clock) {}

  // A slot, released by its destructor.
  class Slot {
   public:
    explicit Slot(QuerySlots* slots) : slots_(*slots) {}
    ~Slot() { slots_.Leave(); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    QuerySlots& slots_;
  };

  // Waits for a slot. Returns nullptr if the caller disconnects.
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
  QueryService(Store* store, Fleet* fleet, MachineNow now_of,
               const Clock* clock)
      : store_(*store),
        fleet_(*fleet),
        now_of_(std::move(now_of)),
        clock_(*clock),
        slots_(clock) {}

  grpc::Status QueryRange(
      grpc::ServerContext* context, const v1::QueryRangeRequest* request,
      grpc::ServerWriter<v1::QueryRangeResponse>* writer) override {
    const auto slot = Admit(*context);
    if (!slot.ok()) return RpcFromStatus(slot.status());
    const auto range_request = RequestFromProto(*request, store_.directory());
    if (!range_request.ok()) return RpcFromStatus(range_request.status());
    return Answer<v1::QueryRangeResponse, SeriesResult>(context, *range_request,
                                                        RunRangeQuery, writer);
  }

  grpc::Status QueryRaw(
      grpc::ServerContext* context, const v1::QueryRawRequest* request,
      grpc::ServerWriter<v1::QueryRawResponse>* writer) override {
    const auto slot = Admit(*context);
    if (!slot.ok()) return RpcFromStatus(slot.status());
    return Answer<v1::QueryRawResponse, RawSeries>(
        context, RequestFromProto(*request, store_.directory()), RunRawQuery,
        writer);
  }

  grpc::Status ExplainValue(grpc::ServerContext* context,
                            const v1::ExplainValueRequest* request,
                            v1::ExplainValueResponse* response) override {
    std::optional<absl::Time> time;
    if (request->has_time()) time = FromProto(request->time());
    const auto slot = Admit(*context);
    if (!slot.ok()) return RpcFromStatus(slot.status());
    const MachineFilter machines =
        MachineFilter::Of(*request, store_.directory());
    auto explained =
        RunExplain(request->path(), time, store_, now_of_, machines);
    if (!explained.ok()) {
      return RpcFromStatus(ExplainMiss(explained.status(), &fleet_, machines));
    }
    *response = *std::move(explained);
    return grpc::Status::OK;
  }

 private:
  // Checks the caller's role and waits for a slot.
  absl::StatusOr<std::unique_ptr<QuerySlots::Slot>> Admit(
      const grpc::ServerContext& context) {
    RETURN_IF_ERROR(
        CheckAccess(context, {Role::kReader, Role::kOperator}).status());
    auto slot = slots_.Enter(context);
    if (slot == nullptr) return absl::CancelledError("the caller disconnected");
    return slot;
  }

  // Runs a query and writes its series, then its missing paths and its silent
  // machines.
  template <typename Response, typename Result, typename Run>
  grpc::Status Answer(grpc::ServerContext* context, const RangeRequest& request,
                      Run run, grpc::ServerWriter<Response>* writer) {
    AnswerWriter answer(context, &clock_);
    absl::Status first_missing;
    const auto report_missing = [&](const absl::Status& missing) {
      const absl::Status explained =
          ExplainMiss(missing, &fleet_, request.machines);
      first_missing.Update(absl::NotFoundError(explained.message()));
      Response response;
      *response.mutable_missing() = ToMissing(explained);
      return answer.Write(response, writer);
    };
    const auto report_silent = [&](const std::string& machine,
                                   absl::Time newest_sample) {
      Response response;
      response.mutable_silent()->set_machine(machine);
      *response.mutable_silent()->mutable_newest_sample() =
          fleetperf::ToProto(newest_sample);
      return answer.Write(response, writer);
    };
    const QueryContext query{
        .store = store_,
        .now_of = now_of_,
        .is_cancelled = [context] { return context->IsCancelled(); },
        .report_missing = report_missing,
        .report_silent = report_silent};
    uint32_t id = 0;
    const absl::Status status = run(request, query, [&](const Result& result) {
      return Write(++id, result, &answer, writer);
    });
    return RpcFromStatus(status.ok() && id == 0 ? first_missing : status);
  }

  static absl::Status Write(
      uint32_t id, const SeriesResult& result, AnswerWriter* answer,
      grpc::ServerWriter<v1::QueryRangeResponse>* writer) {
    v1::QueryRangeResponse response;
    SetSeries(id, result.series, &response);
    RETURN_IF_ERROR(answer->Write(response, writer));
    for (absl::Span<const Point> rest = result.points; !rest.empty();) {
      const auto part =
          rest.subspan(0, std::min(rest.size(), kMaxPointsPerMessage));
      rest.remove_prefix(part.size());
      *response.mutable_points() = aggregator::ToProto(id, part);
      if (result.stopped.has_value()) {
        response.mutable_points()->set_newest_sample_unix_nanos(
            absl::ToUnixNanos(*result.stopped));
      }
      RETURN_IF_ERROR(answer->Write(response, writer));
    }
    return absl::OkStatus();
  }

  static absl::Status Write(uint32_t id, const RawSeries& result,
                            AnswerWriter* answer,
                            grpc::ServerWriter<v1::QueryRawResponse>* writer) {
    v1::QueryRawResponse response;
    SetSeries(id, result.series, &response);
    RETURN_IF_ERROR(answer->Write(response, writer));
    for (absl::Span<const RawSample> rest = result.samples; !rest.empty();) {
      const auto part =
          rest.subspan(0, std::min(rest.size(), kMaxPointsPerMessage));
      rest.remove_prefix(part.size());
      v1::RawSamples* samples = response.mutable_samples();
      samples->Clear();
      samples->set_series(id);
      for (const RawSample& sample : part) {
        *samples->add_samples() = aggregator::ToProto(sample);
      }
      RETURN_IF_ERROR(answer->Write(response, writer));
    }
    return absl::OkStatus();
  }

  Store& store_;
  Fleet& fleet_;
  const MachineNow now_of_;
  const Clock& clock_;
  QuerySlots slots_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeQueryService(Store* store, Fleet* fleet,
                                                MachineNow now_of,
                                                const Clock* clock) {
  return std::make_unique<QueryService>(store, fleet, std::move(now_of), clock);
}

}  // namespace fleetperf::aggregator
