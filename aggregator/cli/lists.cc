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
// A clock that is off by less is not worth mentioning.
constexpr absl::Duration kSkewToShow = absl::Seconds(2);

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

// "3s ago"
std::string Age(absl::Time time, absl::Time now) {
  const absl::Duration age =
      std::max(absl::ZeroDuration(), absl::Trunc(now - time, absl::Seconds(1)));
  if (age == absl::ZeroDuration()) return "just now";
  return absl::StrCat(absl::FormatDuration(age), " ago");
}

using Counts = google::protobuf::Map<std::string, uint64_t>;

// "overrun=3 spool_full=20", by name.
std::string ToText(const Counts& counts) {
  std::vector<std::string> texts;
  for (const auto& [what, count] : counts) {
    texts.push_back(absl::StrCat(what, "=", count));
  }
  std::sort(texts.begin(), texts.end());
  return absl::StrJoin(texts, " ");
}

// Only where there is something to tell.
Field CountsField(const std::string& name, const Counts& counts) {
  Field field{.name = name, .detail = true};
  if (!counts.empty()) field.value = ToText(counts);
  return field;
}

Record MachineRecord(const v1::Machine& machine, absl::Time now) {
  const bool has_sample = machine.has_newest_sample();
  const absl::Time newest = FromProto(machine.newest_sample());
  const absl::Duration skew = FromProto(machine.skew());
  std::vector<std::string> labels;
  for (const auto& [name, value] : machine.labels()) {
    labels.push_back(absl::StrCat(name, "=", value));
  }
  std::sort(labels.begin(), labels.end());
  const bool show_skew =
      machine.connected() && absl::AbsDuration(skew) > kSkewToShow;
  Record record;
  record.push_back({.name = "machine", .value = machine.name()});
  record.push_back(
      {.name = "state",
       .value = std::string(machine.connected() ? "connected" : "away")});
  Field sample{.name = "newest_sample"};
  if (has_sample) {
    sample.value = FormatUtc(newest);
    sample.text = Age(newest, now + skew);
  }
  record.push_back(sample);
  Field clock{.name = "clock_skew_seconds"};
  if (machine.connected()) {
    clock.value = absl::ToDoubleSeconds(skew);
    clock.text = show_skew
                     ? absl::FormatDuration(absl::Trunc(skew, absl::Seconds(1)))
                     : "";
  }
  record.push_back(clock);
  record.push_back(
      {.name = "operating_system", .value = machine.operating_system()});
  record.push_back({.name = "agent_version", .value = machine.agent_version()});
  // Another machine's agent collects from it.
  Field agent{.name = "agent", .value = machine.agent()};
  if (machine.agent() == machine.name()) agent.text = "";
  record.push_back(agent);
  record.push_back({.name = "labels", .value = absl::StrJoin(labels, " ")});
  const absl::Duration lag =
      absl::Trunc(FromProto(machine.lag()), absl::Seconds(1));
  Field lag_field{.name = "lag_seconds"};
  if (machine.connected()) {
    lag_field.value = absl::ToDoubleSeconds(lag);
    lag_field.text =
        lag > absl::ZeroDuration() ? absl::FormatDuration(lag) : "";
  }
  record.push_back(lag_field);
  uint64_t lost = 0;
  for (const auto& [cause, ticks] : machine.lost_ticks()) lost += ticks;
  Field lost_ticks{.name = "lost_ticks", .value = lost};
  if (lost > 0) lost_ticks.text = ToText(machine.lost_ticks());
  record.push_back(lost_ticks);
  record.push_back(CountsField("lost_by_cause", machine.lost_ticks()));
  record.push_back({.name = "rejected_batches",
                    .value = uint64_t{machine.rejected_batches()}});
  record.push_back(CountsField("limits_broken", machine.limits_broken()));
  return record;
}

}  // namespace

absl::Status ListMachines(const Connection& connection, Format format,
                          const std::string& machine) {
  const auto stub = StubOf(connection);
  const auto printer = MakePrinter(format);
  v1::ListMachinesRequest request;
  request.set_machine(machine);
  bool any = false;
  do {
    grpc::ClientContext context;
    SetDeadline(&context);
    v1::ListMachinesResponse response;
    RETURN_IF_ERROR(
        connection.Explain(stub->ListMachines(&context, request, &response)));
    for (const v1::Machine& found : response.machines()) {
      printer->Print(MachineRecord(found, absl::Now()));
      any = true;
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  printer->Finish();
  if (any) return absl::OkStatus();
  return Empty(machine.empty()
                   ? "no agent has connected yet; start fleetperf-agent on a "
                     "machine"
                   : absl::StrCat("no machine matches \"", machine,
                                  "\"; see: fleetperf machines"));
}

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
