#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text/suggest.h"
#include "cli/aggregators.h"
#include "cli/calls.h"
#include "cli/commands.h"
#include "cli/merged_lists.h"
#include "cli/missing.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "fleetperf/v1/fleet.grpc.pb.h"

namespace fleetperf::cli {
namespace {

const char* KindOf(const v1::FindResponse::Found& found) {
  switch (found.kind()) {
    case v1::FindResponse::KIND_COUNTER:
      return "counter";
    case v1::FindResponse::KIND_INSTANCE:
      return "instance";
    case v1::FindResponse::KIND_MACHINE:
      return "machine";
    default:
      return "";
  }
}

Record RecordOf(const v1::FindResponse::Found& found) {
  return {
      {.name = "path", .value = found.path(), .role = ColumnRole::kInstance},
      {.name = "kind",
       .value = std::string(KindOf(found)),
       .role = ColumnRole::kExtra},
      {.name = "name", .value = found.name(), .detail = true},
      {.name = "collected",
       .value = found.collected(),
       .text = found.collected() ? "yes" : "no"},
      {.name = "unit",
       .value = found.unit(),
       .text = UnitText(found.unit()),
       .role = ColumnRole::kExtra},
      {.name = "help", .value = found.help(), .role = ColumnRole::kText}};
}

// Says on standard error what the list does not show.
void ReportRest(const v1::FindResponse& response, const std::string& words) {
  if (!response.corrected_words().empty()) {
    PrintNote(absl::StrCat("nothing matches \"", words, "\"; this is \"",
                           response.corrected_words(), "\""));
  }
  if (response.left_out() > 0) {
    PrintNote(absl::StrCat(response.left_out(),
                           " more match; add words, or show more with --top"));
  }
  if (response.machines_left_out() > 0) {
    PrintNote(absl::StrCat(
        "the instances of ", response.machines_left_out(),
        " machines were not searched; if they are too many, select fewer with "
        "--machine; if they cannot be read, the aggregator's log says why"));
  }
}

}  // namespace

absl::Status Find(const Aggregators& aggregators, Format format,
                  const std::vector<std::string>& words,
                  const MachineFlags& machines, uint32_t limit) {
  v1::FindRequest request;
  RETURN_IF_ERROR(SetMachines(machines, &request));
  request.set_words(absl::StrJoin(words, " "));
  request.set_max_results(limit);
  ASSIGN_OR_RETURN(
      const auto lists,
      CallEach(aggregators, &v1::FleetService::Stub::Find, request));
  const v1::FindResponse response = MergeFound(lists, limit);
  const auto printer = MakePrinter(format);
  for (const auto& found : response.found()) printer->Print(RecordOf(found));
  printer->Finish();
  ReportRest(response, request.words());
  if (!response.found().empty()) return absl::OkStatus();
  return MissingError(absl::NotFoundError(absl::StrCat(
      "nothing matches ", ShellQuoted(request.words()),
      "; see the names: fleetperf countersets, fleetperf machines")));
}

}  // namespace fleetperf::cli
