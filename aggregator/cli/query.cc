#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/values.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kDeadline = absl::Minutes(5);
constexpr absl::Duration kDefaultSince = absl::Minutes(5);

absl::StatusOr<v1::Over> ParseOver(const std::string& text) {
  if (text.empty()) return v1::OVER_UNSPECIFIED;
  if (text == "avg") return v1::OVER_AVERAGE;
  if (text == "min") return v1::OVER_MINIMUM;
  if (text == "max") return v1::OVER_MAXIMUM;
  if (text == "last") return v1::OVER_LAST;
  if (text == "sum") return v1::OVER_SUM;
  return absl::InvalidArgumentError(
      absl::StrCat("--over: \"", text, "\" is not avg, min, max, last or sum"));
}

absl::Status OfFlag(absl::string_view flag, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(flag, ": ", status.message()));
}

absl::Status SetRange(const QueryFlags& flags, v1::QueryRangeRequest* request) {
  if (!flags.since.empty() && !flags.from.empty()) {
    return absl::InvalidArgumentError(
        "--since and --from exclude each other: both say when to start");
  }
  const absl::Time now = absl::Now();
  if (!flags.from.empty()) {
    const auto from = ParseTime(flags.from, now);
    if (!from.ok()) return OfFlag("--from", from.status());
    *request->mutable_start_time() = ToProto(*from);
  } else {
    absl::Duration since = kDefaultSince;
    if (!flags.since.empty()) {
      const auto parsed = ParseDuration(flags.since);
      if (!parsed.ok()) return OfFlag("--since", parsed.status());
      since = *parsed;
    }
    *request->mutable_since() = ToProto(since);
  }
  if (!flags.to.empty()) {
    const auto to = ParseTime(flags.to, now);
    if (!to.ok()) return OfFlag("--to", to.status());
    *request->mutable_end_time() = ToProto(*to);
  }
  if (!flags.step.empty()) {
    const auto step = ParseDuration(flags.step);
    if (!step.ok()) return OfFlag("--step", step.status());
    *request->mutable_step() = ToProto(*step);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Query(const Connection& connection, Format format,
                   const QueryFlags& flags) {
  v1::QueryRangeRequest request;
  for (const std::string& path : flags.paths) request.add_paths(path);
  RETURN_IF_ERROR(SetRange(flags, &request));
  ASSIGN_OR_RETURN(const v1::Over over, ParseOver(flags.over));
  request.set_over(over);
  request.set_top(flags.top);

  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kDeadline));
  const auto stub = v1::QueryService::NewStub(connection.channel());
  const auto reader = stub->QueryRange(&context, request);
  const auto printer = MakePrinter(format);
  std::map<uint32_t, v1::Series> series;
  v1::QueryRangeResponse response;
  bool any = false;
  while (reader->Read(&response)) {
    if (response.has_series()) {
      series[response.series().id()] = response.series();
      continue;
    }
    const v1::Series& of_points = series[response.points().series()];
    ForEachValue(response.points(), [&](const Value& value) {
      printer->Print(ValueRecord(of_points, value, request.has_step()));
      any = true;
    });
  }
  RETURN_IF_ERROR(connection.Explain(reader->Finish()));
  printer->Finish();
  if (any) return absl::OkStatus();
  return absl::NotFoundError(
      "no samples in this time; choose an earlier start, or see when samples "
      "came last: fleetperf machines");
}

}  // namespace fleetperf::cli
