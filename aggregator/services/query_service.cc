#include "aggregator/services/query_service.h"

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <utility>

#include "aggregator/query/explain.h"
#include "aggregator/query/explain_miss.h"
#include "aggregator/query/path_check.h"
#include "aggregator/query/points.h"
#include "aggregator/query/raw_query.h"
#include "aggregator/query/request_limits.h"
#include "aggregator/rpc/working_call.h"
#include "aggregator/services/admission.h"
#include "base/clock.h"
#include "base/rpc_error.h"
#include "base/status_macros.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The limit of points in one message.
constexpr size_t kMaxPointsPerMessage = 4096;
// The shortest time between two reports of the progress.
constexpr absl::Duration kProgressInterval = absl::Milliseconds(500);

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
  size_t label_bytes = 0;
  for (const std::string& label : proto.by_labels()) {
    label_bytes += label.size();
  }
  RETURN_IF_ERROR(CheckFilterSize(static_cast<size_t>(proto.by_labels_size()),
                                  label_bytes));
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

class QueryService : public v1::QueryService::Service {
 public:
  QueryService(Store* store, Fleet* fleet, MachineNow now_of, WorkSlots* slots)
      : store_(*store),
        fleet_(*fleet),
        now_of_(std::move(now_of)),
        slots_(*slots) {}

  grpc::Status QueryRange(
      grpc::ServerContext* context, const v1::QueryRangeRequest* request,
      grpc::ServerWriter<v1::QueryRangeResponse>* writer) override {
    WorkingCall call(context);
    const auto slot =
        AdmitReader(CheckPathsAndFilter(*request), &call, &slots_);
    if (!slot.ok()) return RpcFromStatus(slot.status());
    const auto range_request = RequestFromProto(*request, store_.directory());
    if (!range_request.ok()) return RpcFromStatus(range_request.status());
    return Answer<v1::QueryRangeResponse, SeriesResult>(
        &call, *range_request, request->with_progress(), RunRangeQuery, writer);
  }

  grpc::Status QueryRaw(
      grpc::ServerContext* context, const v1::QueryRawRequest* request,
      grpc::ServerWriter<v1::QueryRawResponse>* writer) override {
    WorkingCall call(context);
    const auto slot =
        AdmitReader(CheckPathsAndFilter(*request), &call, &slots_);
    if (!slot.ok()) return RpcFromStatus(slot.status());
    return Answer<v1::QueryRawResponse, RawSeries>(
        &call, RequestFromProto(*request, store_.directory()),
        request->with_progress(), RunRawQuery, writer);
  }

  grpc::Status ExplainValue(grpc::ServerContext* context,
                            const v1::ExplainValueRequest* request,
                            v1::ExplainValueResponse* response) override {
    WorkingCall call(context);
    std::optional<absl::Time> time;
    if (request->has_time()) time = FromProto(request->time());
    const auto slot = AdmitReader(CheckFilter(*request), &call, &slots_);
    if (!slot.ok()) return RpcFromStatus(slot.status());
    const MachineFilter machines =
        MachineFilter::Of(*request, store_.directory());
    const auto is_cancelled = [&] { return call.IsCancelled(); };
    auto explained = RunExplain(request->path(), time, store_, now_of_,
                                machines, is_cancelled);
    if (!explained.ok()) {
      return RpcFromStatus(
          ExplainMiss(explained.status(), &fleet_, machines, is_cancelled));
    }
    *response = *std::move(explained);
    return grpc::Status::OK;
  }

 private:
  // Runs a query and writes its series, then its missing paths and its silent
  // machines; meanwhile its progress.
  template <typename Response, typename Result, typename Run>
  grpc::Status Answer(WorkingCall* call, const RangeRequest& request,
                      bool with_progress, Run run,
                      grpc::ServerWriter<Response>* writer) {
    const auto is_cancelled = [call] { return call->IsCancelled(); };
    size_t missed = 0;
    absl::Status first_missing;
    const auto report_missing = [&](const absl::Status& missing) {
      const absl::Status explained =
          ++missed <= kMaxMissesExplained
              ? ExplainMiss(missing, &fleet_, request.machines, is_cancelled)
              : missing;
      first_missing.Update(absl::NotFoundError(explained.message()));
      Response response;
      *response.mutable_missing() = ToMissing(explained);
      return call->Write(response, writer);
    };
    const auto report_silent = [&](const std::string& machine,
                                   absl::Time newest_sample) {
      Response response;
      response.mutable_silent()->set_machine(machine);
      *response.mutable_silent()->mutable_newest_sample() =
          fleetperf::ToProto(newest_sample);
      return call->Write(response, writer);
    };
    QueryContext query{.store = store_,
                       .now_of = now_of_,
                       .is_cancelled = is_cancelled,
                       .report_missing = report_missing,
                       .report_silent = report_silent};
    absl::Duration next_report;  // Clock::Monotonic()
    if (with_progress) {
      query.report_progress = [&](size_t machines_read, size_t machines) {
        const absl::Duration now = Clock::Real().Monotonic();
        if (now < next_report) return absl::OkStatus();
        next_report = now + kProgressInterval;
        Response response;
        response.mutable_progress()->set_machines_read(machines_read);
        response.mutable_progress()->set_machines(machines);
        return call->Write(response, writer);
      };
    }
    uint32_t id = 0;
    const absl::Status status = run(request, query, [&](const Result& result) {
      return Write(++id, result, call, writer);
    });
    return RpcFromStatus(status.ok() && id == 0 ? first_missing : status);
  }

  static absl::Status Write(
      uint32_t id, const SeriesResult& result, WorkingCall* call,
      grpc::ServerWriter<v1::QueryRangeResponse>* writer) {
    v1::QueryRangeResponse response;
    SetSeries(id, result.series, &response);
    RETURN_IF_ERROR(call->Write(response, writer));
    for (absl::Span<const Point> rest = result.points; !rest.empty();) {
      const auto part =
          rest.subspan(0, std::min(rest.size(), kMaxPointsPerMessage));
      rest.remove_prefix(part.size());
      *response.mutable_points() = aggregator::ToProto(id, part);
      if (result.stopped.has_value()) {
        response.mutable_points()->set_newest_sample_unix_nanos(
            absl::ToUnixNanos(*result.stopped));
      }
      RETURN_IF_ERROR(call->Write(response, writer));
    }
    return absl::OkStatus();
  }

  static absl::Status Write(uint32_t id, const RawSeries& result,
                            WorkingCall* call,
                            grpc::ServerWriter<v1::QueryRawResponse>* writer) {
    v1::QueryRawResponse response;
    SetSeries(id, result.series, &response);
    RETURN_IF_ERROR(call->Write(response, writer));
    for (absl::Span<const RawSample> rest = result.samples; !rest.empty();) {
      const auto part =
          rest.subspan(0, std::min(rest.size(), kMaxPointsPerMessage));
      rest.remove_prefix(part.size());
      response.Clear();
      // Is written as it is: the encoding of the field `samples`.
      *response.GetReflection()
           ->MutableUnknownFields(&response)
           ->AddLengthDelimited(v1::QueryRawResponse::kSamplesFieldNumber) =
          EncodeSamples(id, part);
      RETURN_IF_ERROR(call->Write(response, writer));
    }
    return absl::OkStatus();
  }

  Store& store_;
  Fleet& fleet_;
  const MachineNow now_of_;
  WorkSlots& slots_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeQueryService(Store* store, Fleet* fleet,
                                                MachineNow now_of,
                                                WorkSlots* slots) {
  return std::make_unique<QueryService>(store, fleet, std::move(now_of), slots);
}

}  // namespace fleetperf::aggregator
