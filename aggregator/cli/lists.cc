#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator/cli/command_progress.h"
#include "aggregator/cli/commands.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "fleetperf/v1/fleet.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(15);

std::unique_ptr<v1::FleetService::Stub> StubOf(const Connection& connection) {
  return v1::FleetService::NewStub(connection.channel());
}

void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(absl::ToChronoTime(absl::Now() + kDeadline));
}

// "web-1, web-2 and 3 more"
std::string SomeOf(const google::protobuf::RepeatedPtrField<std::string>& all) {
  constexpr int kShown = 5;
  const int shown = std::min(all.size(), kShown);
  std::string text = absl::StrJoin(all.begin(), all.begin() + shown, ", ");
  if (all.size() > shown) {
    absl::StrAppend(&text, " and ", all.size() - shown, " more");
  }
  return text;
}

absl::Status Empty(absl::string_view message) {
  return absl::NotFoundError(message);
}

}  // namespace

absl::Status ListCountersets(const Connection& connection, Format format,
                             const std::string& machine) {
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::ListCountersetsRequest request;
  request.set_machine(machine);
  v1::ListCountersetsResponse response;
  RETURN_IF_ERROR(connection.Explain(
      StubOf(connection)->ListCountersets(&context, request, &response)));
  const auto printer = MakePrinter(format);
  for (const v1::Counterset& counterset : response.countersets()) {
    printer->Print(
        {{.name = "counterset", .value = counterset.name()},
         {.name = "instances",
          .value = std::string(counterset.has_instances() ? "yes" : "no")},
         {.name = "counters", .value = uint64_t{counterset.counters()}},
         {.name = "machines", .value = uint64_t{counterset.machines()}},
         {.name = "collecting",
          .value = uint64_t{counterset.collecting_machines()}},
         {.name = "guid", .value = counterset.guid(), .detail = true},
         {.name = "help", .value = counterset.help()}});
  }
  printer->Finish();
  if (response.countersets_size() > 0) return absl::OkStatus();
  return Empty(
      "no machine that matches has sent its countersets; see: "
      "fleetperf machines");
}

absl::Status ListCounters(const Connection& connection, Format format,
                          const std::string& counterset) {
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::ListCountersRequest request;
  request.set_counterset(counterset);
  v1::ListCountersResponse response;
  RETURN_IF_ERROR(connection.Explain(
      StubOf(connection)->ListCounters(&context, request, &response)));
  const auto printer = MakePrinter(format);
  for (const v1::Counter& counter : response.counters()) {
    printer->Print({{.name = "counter", .value = counter.name()},
                    {.name = "id", .value = uint64_t{counter.id()}},
                    {.name = "unit", .value = counter.unit()},
                    {.name = "collected",
                     .value = std::string(counter.collected() ? "yes" : "no")},
                    {.name = "type", .value = counter.type()},
                    {.name = "help", .value = counter.help()}});
  }
  printer->Finish();
  if (response.counters_size() > 0) return absl::OkStatus();
  return Empty(absl::StrCat("counterset \"", counterset,
                            "\" has no counters that can be shown"));
}

absl::Status ListInstances(const Connection& connection, Format format,
                           const std::string& counterset,
                           const std::string& machine) {
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::ListInstancesRequest request;
  request.set_counterset(counterset);
  request.set_machine(machine);
  v1::ListInstancesResponse response;
  auto progress = MakeProgress("asking the agents", Printing::kAtEnd);
  const grpc::Status status =
      StubOf(connection)->ListInstances(&context, request, &response);
  progress.reset();
  RETURN_IF_ERROR(connection.Explain(status));
  const auto printer = MakePrinter(format);
  for (const auto& instance : response.instances()) {
    printer->Print({{.name = "machine", .value = instance.machine()},
                    {.name = "instance", .value = instance.name()},
                    {.name = "id", .value = uint64_t{instance.instance_id()}}});
  }
  printer->Finish();
  if (response.unanswered_size() > 0) {
    std::fprintf(stderr,
                 "fleetperf: no answer from %s; these instances are those of "
                 "the newest samples\n",
                 SomeOf(response.unanswered()).c_str());
  }
  if (response.instances_size() > 0) return absl::OkStatus();
  return Empty(
      absl::StrCat("counterset \"", counterset, "\" has no instances now"));
}

}  // namespace fleetperf::cli
