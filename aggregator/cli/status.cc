#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/times.h"
#include "base/rpc_deadline.h"
#include "base/status_macros.h"
#include "fleetperf/v1/administration.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

std::string InSeconds(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Seconds(1)));
}

Field DurationField(const std::string& name, absl::Duration duration) {
  return {.name = name,
          .value = absl::ToDoubleSeconds(duration),
          .text = InSeconds(duration)};
}

Record StatusRecord(const v1::GetStatusResponse& status) {
  Record record;
  record.push_back({.name = "version", .value = status.version()});
  const absl::Time time = FromProto(status.time());
  record.push_back(
      {.name = "time",
       .value = TimeText(time),
       .text = TimeText(absl::FromUnixSeconds(absl::ToUnixSeconds(time)))});
  record.push_back(DurationField("uptime_seconds", FromProto(status.uptime())));
  const bool is_held = status.has_clock_hold();
  record.push_back(
      {.name = "clock", .value = std::string(is_held ? "jumped" : "steady")});
  Field jump{.name = "clock_jump_seconds"};
  Field left{.name = "removal_held_seconds"};
  if (is_held) {
    jump = DurationField(jump.name, FromProto(status.clock_hold().jump()));
    left = DurationField(left.name, FromProto(status.clock_hold().left()));
  }
  record.push_back(jump);
  record.push_back(left);
  return record;
}

}  // namespace

absl::Status ShowStatus(const Connection& connection, Format format) {
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kCallDeadline));
  v1::GetStatusResponse response;
  const auto stub = v1::AdministrationService::NewStub(connection.channel());
  RETURN_IF_ERROR(connection.Explain(stub->GetStatus(&context, {}, &response)));
  const auto printer = MakePrinter(format);
  printer->Print(StatusRecord(response));
  printer->Finish();
  if (format == Format::kTable && response.has_clock_hold()) {
    std::fprintf(
        stderr, "%s",
        "The clock jumped ahead: nothing is removed or thinned by age. If the "
        "time is right: fleetperf confirm-clock\n");
  }
  return absl::OkStatus();
}

absl::Status ConfirmClock(const Connection& connection) {
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kCallDeadline));
  v1::ConfirmClockResponse response;
  const auto stub = v1::AdministrationService::NewStub(connection.channel());
  RETURN_IF_ERROR(
      connection.Explain(stub->ConfirmClock(&context, {}, &response)));
  PutLine(absl::StrCat(response.was_held()
                           ? "old samples are removed again, by the time "
                           : "nothing was on hold; the time is ",
                       TimeText(FromProto(response.time()))));
  return absl::OkStatus();
}

}  // namespace fleetperf::cli
