#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/text/units.h"
#include "cli/command_progress.h"
#include "cli/commands.h"
#include "cli/numbers.h"
#include "cli/pages.h"
#include "fleetperf/v1/fleet.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

// Page sizes: countersets or counters, and machines with their instances.
constexpr uint32_t kPageSize = 1000;
constexpr uint32_t kMachinesAtATime = 200;

// Returns "web-1, web-2 and 3 more".
std::string SomeOf(const google::protobuf::RepeatedPtrField<std::string>& all) {
  constexpr int kShown = 5;
  const int shown = std::min(all.size(), kShown);
  std::string text = absl::StrJoin(all.begin(), all.begin() + shown, ", ");
  if (all.size() > shown) {
    absl::StrAppend(&text, " and ", all.size() - shown, " more");
  }
  return text;
}

const char* YesOrNo(bool yes) { return yes ? "yes" : "no"; }

absl::Status Empty(absl::string_view message) {
  return MissingError(absl::NotFoundError(message));
}

}  // namespace

absl::Status ListCountersets(const Connection& connection, Format format,
                             const MachineFlags& machines) {
  v1::ListCountersetsRequest request;
  request.set_page_size(kPageSize);
  RETURN_IF_ERROR(SetMachines(machines, &request));
  const auto printer = MakePrinter(format);
  bool any = false;
  RETURN_IF_ERROR(
      (ForEachPage<v1::ListCountersetsRequest, v1::ListCountersetsResponse>(
          connection, &v1::FleetService::Stub::ListCountersets, request,
          [&](const v1::ListCountersetsResponse& response) {
            for (const v1::Counterset& counterset : response.countersets()) {
              any = true;
              printer->Print(
                  {{.name = "counterset",
                    .value = counterset.name(),
                    .role = ColumnRole::kInstance},
                   {.name = "instances",
                    .value = counterset.has_instances(),
                    .text = YesOrNo(counterset.has_instances()),
                    .role = ColumnRole::kExtra},
                   {.name = "counters",
                    .value = uint32_t{counterset.counters()},
                    .role = ColumnRole::kExtra},
                   {.name = "machines",
                    .value = uint32_t{counterset.machines()}},
                   {.name = "collecting",
                    .value = uint32_t{counterset.collecting_machines()}},
                   {.name = "provider",
                    .value = counterset.provider(),
                    .role = ColumnRole::kExtra},
                   {.name = "guid", .value = counterset.guid(), .detail = true},
                   {.name = "help",
                    .value = counterset.help(),
                    .role = ColumnRole::kText}});
            }
          })));
  printer->Finish();
  if (any) return absl::OkStatus();
  return Empty(
      "no machine that matches has sent its countersets; see: "
      "fleetperf machines");
}

absl::Status ListCounters(const Connection& connection, Format format,
                          const std::string& counterset,
                          const MachineFlags& machines) {
  v1::ListCountersRequest request;
  RETURN_IF_ERROR(SetMachines(machines, &request));
  request.set_page_size(kPageSize);
  request.set_counterset(counterset);
  const auto printer = MakePrinter(format);
  bool any = false;
  RETURN_IF_ERROR(
      (ForEachPage<v1::ListCountersRequest, v1::ListCountersResponse>(
          connection, &v1::FleetService::Stub::ListCounters, request,
          [&](const v1::ListCountersResponse& response) {
            for (const v1::Counter& counter : response.counters()) {
              any = true;
              printer->Print({{.name = "counter",
                               .value = counter.name(),
                               .role = ColumnRole::kInstance},
                              {.name = "id",
                               .value = uint32_t{counter.id()},
                               .role = ColumnRole::kExtra},
                              {.name = "unit",
                               .value = counter.unit(),
                               .text = UnitText(counter.unit())},
                              {.name = "collected",
                               .value = counter.collected(),
                               .text = YesOrNo(counter.collected())},
                              {.name = "type",
                               .value = counter.type(),
                               .role = ColumnRole::kExtra},
                              {.name = "help",
                               .value = counter.help(),
                               .role = ColumnRole::kText}});
            }
          })));
  printer->Finish();
  if (any) return absl::OkStatus();
  return Empty(absl::StrCat("counterset \"", counterset,
                            "\" has no counters that can be shown"));
}

absl::Status ListInstances(const Connection& connection, Format format,
                           const std::string& counterset,
                           const MachineFlags& machines) {
  v1::ListInstancesRequest request;
  request.set_page_size(kMachinesAtATime);
  request.set_counterset(counterset);
  RETURN_IF_ERROR(SetMachines(machines, &request));
  auto progress = MakeProgress("asking the agents", Printing::kAtEnd);
  const auto printer = MakePrinter(format);
  bool any = false;
  google::protobuf::RepeatedPtrField<std::string> unanswered;
  const absl::Status status =
      ForEachPage<v1::ListInstancesRequest, v1::ListInstancesResponse>(
          connection, &v1::FleetService::Stub::ListInstances, request,
          [&](const v1::ListInstancesResponse& response) {
            // Progress and instances would share a line.
            progress.reset();
            for (const auto& instance : response.instances()) {
              any = true;
              printer->Print(
                  {{.name = "machine",
                    .value = instance.machine(),
                    .role = ColumnRole::kMachine},
                   {.name = "instance",
                    .value = instance.name(),
                    .role = ColumnRole::kInstance},
                   {.name = "id", .value = uint32_t{instance.instance_id()}}});
            }
            unanswered.MergeFrom(response.unanswered());
          });
  progress.reset();
  RETURN_IF_ERROR(status);
  printer->Finish();
  if (!unanswered.empty()) {
    std::fprintf(stderr,
                 "fleetperf: no answer from %s; showing the instances of their "
                 "newest samples\n",
                 Printable(SomeOf(unanswered)).c_str());
  }
  if (any) return absl::OkStatus();
  return Empty(
      absl::StrCat("counterset \"", counterset, "\" has no instances now"));
}

}  // namespace fleetperf::cli
