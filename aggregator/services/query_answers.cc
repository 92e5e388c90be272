#include "aggregator/services/query_answers.h"

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <utility>

#include "aggregator/query/explain.h"
#include "aggregator/query/explain_miss.h"
#include "aggregator/query/path_check.h"
#include "aggregator/query/points.h"
#include "aggregator/query/raw_query.h"
#include "aggregator/query/request_limits.h"
#include "aggregator/services/admission.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
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
std::vector<std::string> PathsOf(const Request& proto) {
  return {proto.paths().begin(), proto.paths().end()};
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
  request.paths = PathsOf(proto);
  request.step = FromProto(proto.step());
  request.over = OverFromProto(proto.over());
  request.choice.top = proto.top();
  request.choice.bottom = proto.bottom();
  request.aggregation = AggregationOf(proto);
  request.machines = MachineFilter::Of(proto, directory);
  if (proto.has_where()) {
    ASSIGN_OR_RETURN(request.choice.where, ConditionFromProto(proto.where()));
  }
  request.unnamed_aggregates = !proto.without_aggregates();
  SetRange(proto, &request);
  return request;
}

RangeRequest RequestFromProto(const v1::QueryRawRequest& proto,
                              const Directory& directory) {
  RangeRequest request{.paths = PathsOf(proto),
                       .machines = MachineFilter::Of(proto, directory)};
  SetRange(proto, &request);
  return request;
}

template <typename Parts>
void SetSeries(uint32_t id, const v1::Series& series, Parts* part) {
  *part->mutable_series() = series;
  part->mutable_series()->set_id(id);
}

absl::Status Write(uint32_t id, const SeriesResult& result,
                   const WritePart<v1::QueryRangeResponse>& write) {
  v1::QueryRangeResponse response;
  SetSeries(id, result.series, &response);
  if (result.share.has_value()) response.set_share(*result.share);
  if (result.ended.has_value()) {
    response.set_ended_unix_nanos(absl::ToUnixNanos(*result.ended));
  }
  if (result.range_end.has_value()) {
    response.set_range_end_unix_nanos(absl::ToUnixNanos(*result.range_end));
  }
  RETURN_IF_ERROR(write(response));
  response.Clear();
  for (absl::Span<const Point> rest = result.points; !rest.empty();) {
    const auto part =
        rest.subspan(0, std::min(rest.size(), kMaxPointsPerMessage));
    rest.remove_prefix(part.size());
    *response.mutable_points() = aggregator::ToProto(id, part);
    if (result.stopped.has_value()) {
      response.mutable_points()->set_newest_sample_unix_nanos(
          absl::ToUnixNanos(*result.stopped));
    }
    RETURN_IF_ERROR(write(response));
  }
  return absl::OkStatus();
}

absl::Status Write(uint32_t id, const RawSeries& result,
                   const WritePart<v1::QueryRawResponse>& write) {
  v1::QueryRawResponse response;
  SetSeries(id, result.series, &response);
  RETURN_IF_ERROR(write(response));
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
    RETURN_IF_ERROR(write(response));
  }
  return absl::OkStatus();
}

// Runs a query and writes its series, then its missing paths and its silent
// machines; meanwhile its progress. Lends its place while it writes.
template <typename Response, typename Result, typename Run>
absl::Status Answer(const ReadScope& scope, const Caller& caller,
                    const RangeRequest& request, bool with_progress, Run run,
                    const WritePart<Response>& write_and_wait,
                    CallerQuota::Share place) {
  const WritePart<Response> write = [&](const Response& part) -> absl::Status {
    place.Lend();
    RETURN_IF_ERROR(write_and_wait(part));
    if (place.Resume(caller.is_cancelled)) return absl::OkStatus();
    return absl::CancelledError("the caller disconnected");
  };
  size_t missed = 0;
  absl::Status first_missing;
  const auto report_missing = [&](const absl::Status& missing) {
    const absl::Status explained =
        ++missed <= kMaxMissesExplained
            ? ExplainMiss(missing, &scope.fleet, request.machines,
                          caller.is_cancelled)
            : missing;
    first_missing.Update(absl::NotFoundError(explained.message()));
    Response response;
    *response.mutable_missing() = ToMissing(explained);
    return write(response);
  };
  const auto report_silent = [&](const SilentMachine& machine) {
    Response response;
    v1::SilentMachine& silent = *response.mutable_silent();
    silent.set_machine(machine.machine);
    *silent.mutable_newest_sample() = fleetperf::ToProto(machine.newest_sample);
    if (machine.clock_skew.has_value()) {
      *silent.mutable_clock_skew() = fleetperf::ToProto(*machine.clock_skew);
    }
    silent.set_has_samples(machine.has_samples);
    return write(response);
  };
  QueryContext query{.store = scope.store,
                     .now_of = scope.now_of,
                     .is_cancelled = caller.is_cancelled,
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
      return write(response);
    };
  }
  uint32_t id = 0;
  const absl::Status status = run(request, query, [&](const Result& result) {
    return Write(++id, result, write);
  });
  return status.ok() && id == 0 ? first_missing : status;
}

}  // namespace

absl::Status QueryAnswers::Range(
    const v1::QueryRangeRequest& request, const Caller& caller,
    const WritePart<v1::QueryRangeResponse>& write) const {
  ASSIGN_OR_RETURN(auto place, Admit(CheckPathsAndFilter(request), caller,
                                     Pool::kQueries, &quota_));
  ASSIGN_OR_RETURN(const RangeRequest range,
                   RequestFromProto(request, scope_.store.directory()));
  return Answer<v1::QueryRangeResponse, SeriesResult>(
      scope_, caller, range, request.with_progress(), RunRangeQuery, write,
      std::move(place));
}

absl::Status QueryAnswers::Raw(
    const v1::QueryRawRequest& request, const Caller& caller,
    const WritePart<v1::QueryRawResponse>& write) const {
  ASSIGN_OR_RETURN(auto place, Admit(CheckPathsAndFilter(request), caller,
                                     Pool::kQueries, &quota_));
  return Answer<v1::QueryRawResponse, RawSeries>(
      scope_, caller, RequestFromProto(request, scope_.store.directory()),
      request.with_progress(), RunRawQuery, write, std::move(place));
}

absl::Status QueryAnswers::Explain(const v1::ExplainValueRequest& request,
                                   const Caller& caller,
                                   v1::ExplainValueResponse* response) const {
  std::optional<absl::Time> time;
  if (request.has_time()) time = FromProto(request.time());
  ASSIGN_OR_RETURN(const auto place, Admit(CheckFilter(request), caller,
                                           Pool::kQueries, &quota_));
  const MachineFilter machines =
      MachineFilter::Of(request, scope_.store.directory());
  auto explained = RunExplain(request.path(), time, scope_.store, scope_.now_of,
                              machines, caller.is_cancelled);
  if (!explained.ok()) {
    return ExplainMiss(explained.status(), &scope_.fleet, machines,
                       caller.is_cancelled);
  }
  *response = *std::move(explained);
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
