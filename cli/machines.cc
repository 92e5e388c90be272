#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "cli/calls.h"
#include "cli/commands.h"
#include "cli/merged_lists.h"
#include "cli/table.h"
#include "cli/times.h"
#include "fleetperf/v1/fleet.grpc.pb.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

// Smaller skews are not shown.
constexpr absl::Duration kSkewToShow = absl::Seconds(2);
// Tables show the ends of certificates that are nearer.
constexpr absl::Duration kExpiryToShow = absl::Hours(24 * 30);
// The machines of a page; fewer with query reports, which are large.
constexpr uint32_t kMachinesOfPage = 10'000;
constexpr uint32_t kVerboseMachinesOfPage = 100;

// Returns "3s ago".
std::string Age(absl::Time time, absl::Time now) {
  const absl::Duration age =
      std::max(absl::ZeroDuration(), absl::Trunc(now - time, absl::Seconds(1)));
  if (age == absl::ZeroDuration()) return "just now";
  return absl::StrCat(DurationText(age), " ago");
}

using Counts = google::protobuf::Map<std::string, uint64_t>;

// Returns "overrun=3 spool_full=20", sorted by name.
std::string ToText(const Counts& counts) {
  std::vector<std::string> texts;
  for (const auto& [what, count] : counts) {
    texts.push_back(absl::StrCat(what, "=", count));
  }
  std::sort(texts.begin(), texts.end());
  return absl::StrJoin(texts, " ");
}

// The field has a value only if there are counts.
Field CountsField(const std::string& name, const Counts& counts) {
  Field field{.name = name, .detail = true};
  if (counts.empty()) return field;
  Record record;
  for (const auto& [what, count] : std::map(counts.begin(), counts.end())) {
    record.push_back({.name = what, .value = uint64_t{count}});
  }
  field.value = std::move(record);
  return field;
}

Field CertificateField(const v1::Machine& machine, absl::Time now) {
  Field field{.name = "certificate_expires"};
  if (!machine.has_certificate_expires()) return field;
  const absl::Time end = FromProto(machine.certificate_expires());
  field.value = end;
  if (end - now > kExpiryToShow) field.text = "";
  return field;
}

std::string StateOf(const v1::Machine& machine) {
  if (machine.not_here()) return "not here";
  if (!machine.connected()) return machine.expected() ? "missing" : "away";
  return machine.no_new_samples() ? "connected, no new samples" : "connected";
}

// The addresses of two agents of one name.
Field ConflictField(const v1::Machine& machine) {
  Field field{.name = "name_conflict"};
  if (!machine.conflicting_address().empty()) {
    field.value =
        absl::StrCat("connected from ", machine.address(),
                     ", another one from ", machine.conflicting_address());
  }
  return field;
}

// Sets the fields of `record`, whose memory is used again.
void SetRecord(const v1::Machine& machine, absl::Time now, Record* out) {
  Record& record = *out;
  record.clear();
  const bool has_sample = machine.has_newest_sample();
  const absl::Time newest = FromProto(machine.newest_sample());
  const absl::Duration skew = FromProto(machine.skew());
  Record labels;
  for (const auto& [name, value] :
       std::map(machine.labels().begin(), machine.labels().end())) {
    labels.push_back({.name = name, .value = value});
  }
  const bool show_skew =
      machine.connected() && absl::AbsDuration(skew) > kSkewToShow;
  record.push_back({.name = "machine",
                    .value = machine.name(),
                    .role = ColumnRole::kInstance});
  record.push_back({.name = "state", .value = StateOf(machine)});
  Field sample{.name = "newest_sample"};
  if (has_sample) {
    sample.value = newest;
    sample.text = Age(newest, now + skew);
  }
  record.push_back(std::move(sample));
  Field clock{.name = "clock_skew_seconds"};
  if (machine.connected()) {
    clock.value = absl::ToDoubleSeconds(skew);
    clock.text =
        show_skew ? DurationText(absl::Trunc(skew, absl::Seconds(1))) : "";
  }
  record.push_back(std::move(clock));
  record.push_back({.name = "operating_system",
                    .value = machine.operating_system(),
                    .role = ColumnRole::kText});
  record.push_back({.name = "agent_version",
                    .value = machine.agent_version(),
                    .role = ColumnRole::kExtra});
  // Shown only if another machine's agent collects from the machine.
  Field agent{.name = "agent", .value = machine.agent()};
  if (machine.agent() == machine.name()) agent.text = "";
  record.push_back(std::move(agent));
  record.push_back({.name = "labels",
                    .value = std::move(labels),
                    .role = ColumnRole::kText});
  const absl::Duration lag =
      absl::Trunc(FromProto(machine.lag()), absl::Seconds(1));
  Field lag_field{.name = "lag_seconds"};
  if (machine.connected()) {
    lag_field.value = absl::ToDoubleSeconds(lag);
    lag_field.text = lag > absl::ZeroDuration() ? DurationText(lag) : "";
  }
  record.push_back(std::move(lag_field));
  uint64_t lost = 0;
  for (const auto& [cause, ticks] : machine.lost_ticks()) lost += ticks;
  Field lost_ticks{.name = "lost_ticks", .value = lost};
  lost_ticks.text = ToText(machine.lost_ticks());
  record.push_back(std::move(lost_ticks));
  record.push_back(CountsField("lost_by_cause", machine.lost_ticks()));
  Field rejected{.name = "rejected_batches",
                 .value = uint64_t{machine.rejected_batches()}};
  if (machine.rejected_batches() == 0) rejected.text = "";
  record.push_back(std::move(rejected));
  record.push_back(CountsField("limits_broken", machine.limits_broken()));
  record.push_back(ConflictField(machine));
  record.push_back(CertificateField(machine, now));
  record.push_back(
      {.name = "expected", .value = machine.expected(), .detail = true});
}

// Returns one record per query of the plan, or per counterset of a query with
// wildcards.
std::vector<Record> QueryRecords(const v1::PlanReport& report) {
  std::vector<Record> records;
  for (const v1::QueryReport& query : report.queries()) {
    Field status{.name = "status"};
    if (query.error().empty()) {
      status.value = std::string("ok");
    } else {
      status.value = std::string("error");
      status.text = query.error();
    }
    Field error{.name = "error", .detail = true};
    if (!query.error().empty()) error.value = query.error();
    records.push_back({{.name = "query", .value = query.name()},
                       {.name = "counterset", .value = query.counterset()},
                       status,
                       error});
  }
  return records;
}

void AddPlan(const v1::Machine& machine, Record* record) {
  Field version{.name = "plan_version"};
  Field queries{.name = "queries"};
  if (machine.has_plan_report()) {
    version.value = uint64_t{machine.plan_report().version()};
    queries.value = QueryRecords(machine.plan_report());
  }
  record->push_back(version);
  record->push_back(queries);
}

// Returns the description of the plan's version.
std::string PlanText(const v1::Machine& machine) {
  if (!machine.has_plan_report()) {
    return machine.connected() ? "not reported yet" : "away";
  }
  const uint64_t version = machine.plan_report().version();
  return version == 0 ? "the agent's own configuration"
                      : absl::StrCat("version ", version);
}

// Prints a block per machine: a line per fact, then the queries of its plan.
void PrintBlock(const v1::Machine& machine) {
  PutLine(Printable(machine.name()));
  std::vector<Record> facts;
  const auto add_fact = [&](const std::string& name, const std::string& text) {
    if (text.empty()) return;
    facts.push_back(
        {{.name = "", .value = absl::StrReplaceAll(name, {{"_", " "}})},
         {.name = "", .value = text}});
  };
  Record record;
  SetRecord(machine, Clock::Real().Now(), &record);
  for (const Field& field : record) {
    if (!field.detail && field.name != "machine") {
      add_fact(field.name, TableText(field));
    }
  }
  add_fact("plan", PlanText(machine));
  const size_t width = TableWidth();
  const auto print = [&](const std::vector<std::string>& lines, size_t first,
                         absl::string_view indent) {
    for (size_t i = first; i < lines.size(); ++i) {
      PutLine(absl::StrCat(indent, lines[i]));
    }
  };
  print(FormatTable(facts, width), 1, "  ");
  print(FormatTable(QueryRecords(machine.plan_report()), width), 0, "    ");
}

// Prints machines as they arrive.
class MachinePrinter {
 public:
  MachinePrinter(Format format, bool verbose)
      : verbose_(verbose),
        printer_(verbose && format == Format::kTable ? nullptr
                                                     : MakePrinter(format)) {}

  void Print(const v1::Machine& machine) {
    if (printer_ == nullptr) return PrintBlock(machine);
    SetRecord(machine, Clock::Real().Now(), &record_);
    if (verbose_) AddPlan(machine, &record_);
    printer_->Print(record_);
  }

  void Finish() {
    if (printer_ != nullptr) printer_->Finish();
  }

 private:
  const bool verbose_;
  const std::unique_ptr<RecordPrinter> printer_;  // null: blocks
  Record record_;
};

}  // namespace

absl::StatusOr<std::vector<v1::ListMachinesResponse>> MachinesOfEach(
    const Aggregators& aggregators, const MachineFlags& machines,
    bool with_plan_reports) {
  v1::ListMachinesRequest request;
  RETURN_IF_ERROR(SetMachines(machines, &request));
  request.set_with_plan_reports(with_plan_reports);
  request.set_page_size(with_plan_reports ? kVerboseMachinesOfPage
                                          : kMachinesOfPage);
  return CallEach(aggregators, &v1::FleetService::Stub::ListMachines, request);
}

absl::Status ListMachines(const Aggregators& aggregators, Format format,
                          const MachineFlags& machines, bool verbose) {
  ASSIGN_OR_RETURN(auto lists, MachinesOfEach(aggregators, machines, verbose));
  const auto merged = MergeMachines(std::move(lists));
  MachinePrinter printer(format, verbose);
  for (const v1::Machine& machine : merged) {
    if (HasOutputFailed()) break;
    printer.Print(machine);
  }
  printer.Finish();
  if (!merged.empty()) return absl::OkStatus();
  if (machines.machine.empty() && machines.labels.empty()) {
    return absl::FailedPreconditionError(
        "no agent has connected yet; start fleetperf-agent on a machine");
  }
  std::string wanted = machines.labels.empty() ? "" : " with label ";
  absl::StrAppend(&wanted, absl::StrJoin(machines.labels, " and "));
  return MissingError(absl::NotFoundError(absl::StrCat(
      "no machine matches",
      machines.machine.empty() ? ""
                               : absl::StrCat(" \"", machines.machine, "\""),
      wanted, "; see: fleetperf machines")));
}

}  // namespace fleetperf::cli
