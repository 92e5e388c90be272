#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/aggregators.h"
#include "cli/calls.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/missing.h"
#include "cli/times.h"
#include "fleetperf/v1/administration.grpc.pb.h"
#include "perflib/path.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

std::string InSeconds(absl::Duration duration) {
  return DurationText(absl::Trunc(duration, absl::Seconds(1)));
}

Field DurationField(const std::string& name, absl::Duration duration) {
  return {.name = name,
          .value = absl::ToDoubleSeconds(duration),
          .text = InSeconds(duration)};
}

void AddFleet(const v1::GetStatusResponse& status, Record* record) {
  const Field machines{.name = "machines",
                       .value = uint32_t{status.machines()}};
  Field expected{.name = "expected_machines",
                 .value = uint32_t{status.expected_machines()}};
  Field missing{.name = "missing_machines",
                .value = uint32_t{status.missing_machines()}};
  Field conflicts{.name = "name_conflicts",
                  .value = uint32_t{status.conflicting_machines()}};
  if (status.expected_machines() == 0) expected.text = missing.text = "";
  if (status.conflicting_machines() == 0) conflicts.text = "";
  record->insert(record->end(), {machines, expected, missing, conflicts});
}

Record StatusRecord(const v1::GetStatusResponse& status) {
  Record record;
  record.push_back({.name = "version", .value = status.version()});
  const absl::Time time = FromProto(status.time());
  record.push_back(
      {.name = "time",
       .value = time,
       .text = TimeText(absl::FromUnixSeconds(absl::ToUnixSeconds(time)))});
  const absl::Duration uptime = FromProto(status.uptime());
  record.push_back(
      {.name = "uptime", .value = InSeconds(uptime), .shown_in = kInTables});
  record.push_back({.name = "uptime_seconds",
                    .value = absl::ToDoubleSeconds(uptime),
                    .shown_in = kInCsv | kInJson});
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
  AddFleet(status, &record);
  return record;
}

using Names = google::protobuf::RepeatedPtrField<std::string>;

// Prints the first of `count` machines.
void PrintMachines(absl::string_view what, const Names& first, uint32_t count) {
  if (count == 0) return;
  PrintNote(absl::StrCat(what, ": ", SomeOf(first, count, count),
                         ". See: fleetperf machines"));
}

// Returns the path of an aggregator's own counters.
std::string OwnCounters(const std::string& machine) {
  return absl::StrCat("\\\\", perflib::EscapeName(machine),
                      "\\fleetperf Aggregator\\*");
}

// A machine that one of several aggregators misses may be connected to another.
void PrintHints(const v1::GetStatusResponse& response, bool is_of_several) {
  if (response.has_clock_hold()) {
    PrintNote(
        "The clock jumped ahead: nothing is removed or thinned by age. If the "
        "time is right: fleetperf confirm-clock");
  }
  if (!is_of_several) {
    PrintMachines("Expected machines that are missing", response.missing(),
                  response.missing_machines());
  }
  PrintMachines("Machines whose name two agents use", response.conflicting(),
                response.conflicting_machines());
}

}  // namespace

absl::Status ShowStatus(const Aggregators& aggregators, Format format,
                        bool verbose) {
  ASSIGN_OR_RETURN(
      const auto responses,
      CallEach(aggregators, &v1::AdministrationService::Stub::GetStatus, {}));
  const auto printer = MakePrinter(format);
  std::vector<std::string> counters;
  for (size_t i = 0; i < responses.size(); ++i) {
    const v1::GetStatusResponse& response = responses[i];
    if (!response.has_time()) continue;  // it failed
    Record record = StatusRecord(response);
    if (aggregators.are_several()) {
      record.insert(
          record.begin(),
          {.name = "aggregator", .value = aggregators.reached()[i].address()});
    }
    printer->Print(record);
    counters.push_back(OwnCounters(response.name()));
  }
  printer->Finish();
  if (format == Format::kTable) {
    for (const v1::GetStatusResponse& response : responses) {
      PrintHints(response, aggregators.are_several());
    }
  }
  if (!verbose) return absl::OkStatus();
  return Query(aggregators, format,
               {.paths = std::move(counters), .since = "5m"});
}

absl::Status ConfirmClock(const Connection& connection) {
  v1::ConfirmClockResponse response;
  RETURN_IF_ERROR(Call(connection,
                       &v1::AdministrationService::Stub::ConfirmClock, {},
                       &response));
  PutLine(absl::StrCat(response.was_held()
                           ? "old samples are removed again, by the time "
                           : "nothing was on hold; the time is ",
                       TimeText(FromProto(response.time()))));
  return absl::OkStatus();
}

}  // namespace fleetperf::cli
