
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text/units.h"
#include "cli/calls.h"
#include "cli/command_progress.h"
#include "cli/commands.h"
#include "cli/merged_lists.h"
#include "cli/missing.h"
#include "cli/numbers.h"
#include "fleetperf/v1/fleet.grpc.pb.h"

namespace fleetperf::cli {
namespace {

// Page sizes: countersets or counters, and machines with their instances.
constexpr uint32_t kPageSize = 1000;
constexpr uint32_t kMachinesAtATime = 200;
// The limit of machines in a note.
constexpr size_t kShown = 5;

const char* YesOrNo(bool yes) { return yes ? "yes" : "no"; }

absl::Status Empty(absl::string_view message) {
  return MissingError(absl::NotFoundError(message));
}

}  // namespace

absl::Status ListCountersets(const Aggregators& aggregators, Format format,
                             const MachineFlags& machines) {
  v1::ListCountersetsRequest request;
  request.set_page_size(kPageSize);
  RETURN_IF_ERROR(SetMachines(machines, &request));
  ASSIGN_OR_RETURN(
      const auto lists,
      CallEach(aggregators, &v1::FleetService::Stub::ListCountersets, request));
  const std::vector<v1::Counterset> countersets = MergeCountersets(lists);
  const auto printer = MakePrinter(format);
  for (const v1::Counterset& counterset : countersets) {
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
         {.name = "machines", .value = uint32_t{counterset.machines()}},
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
  printer->Finish();
  if (!countersets.empty()) return absl::OkStatus();
  return Empty(
      "no machine that matches has sent its countersets; see: "
      "fleetperf machines");
}

absl::Status ListCounters(const Aggregators& aggregators, Format format,
                          const std::string& counterset,
                          const MachineFlags& machines) {
  v1::ListCountersRequest request;
  RETURN_IF_ERROR(SetMachines(machines, &request));
  request.set_page_size(kPageSize);
  request.set_counterset(counterset);
  ASSIGN_OR_RETURN(
      const auto lists,
      CallEach(aggregators, &v1::FleetService::Stub::ListCounters, request));
  const std::vector<v1::Counter> counters = MergeCounters(lists);
  const auto printer = MakePrinter(format);
  for (const v1::Counter& counter : counters) {
    printer->Print(
        {{.name = "counter",
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
         {.name = "type", .value = counter.type(), .role = ColumnRole::kExtra},
         {.name = "help", .value = counter.help(), .role = ColumnRole::kText}});
  }
  printer->Finish();
  if (!counters.empty()) return absl::OkStatus();
  return Empty(absl::StrCat("counterset \"", counterset,
                            "\" has no counters that can be shown"));
}

absl::Status ListInstances(const Aggregators& aggregators, Format format,
                           const std::string& counterset,
                           const MachineFlags& machines) {
  v1::ListInstancesRequest request;
  request.set_page_size(kMachinesAtATime);
  request.set_counterset(counterset);
  RETURN_IF_ERROR(SetMachines(machines, &request));
  auto progress = MakeProgress("asking the agents", Printing::kAtEnd);
  ASSIGN_OR_RETURN(
      const auto lists,
      CallEach(aggregators, &v1::FleetService::Stub::ListInstances, request));
  progress.reset();
  const v1::ListInstancesResponse merged = MergeInstances(lists);
  const auto printer = MakePrinter(format);
  for (const auto& instance : merged.instances()) {
    printer->Print({{.name = "machine",
                     .value = instance.machine(),
                     .role = ColumnRole::kMachine},
                    {.name = "instance",
                     .value = instance.name(),
                     .role = ColumnRole::kInstance},
                    {.name = "id", .value = uint32_t{instance.instance_id()}}});
  }
  printer->Finish();
  if (!merged.unanswered().empty()) {
    PrintNote(absl::StrCat(
        "no answer from ",
        SomeOf(merged.unanswered(),
               static_cast<size_t>(merged.unanswered_size()), kShown),
        "; showing the instances of their newest samples"));
  }
  if (!merged.instances().empty()) return absl::OkStatus();
  return Empty(
      absl::StrCat("counterset \"", counterset, "\" has no instances now"));
}

}  // namespace fleetperf::cli
