// explain: shows the calculation of a value.

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"
#include "base/text/printable.h"
#include "cli/aggregators.h"
#include "cli/calls.h"
#include "cli/command_progress.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/missing.h"
#include "cli/numbers.h"
#include "cli/table.h"
#include "cli/times.h"
#include "cli/values.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "perflib/counter_type.h"
#include "proto/conversions.h"
#include "proto/series_key.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kExplainDeadline = absl::Minutes(1);

Value ValueOf(const v1::Explanation& explanation) {
  return {.time = TimeOf(explanation.newer()),
          .value = explanation.value(),
          .status = explanation.status(),
          .cause = explanation.cause()};
}

// Returns the fields of the object for programs.
Record ToRecord(const v1::Explanation& explanation) {
  const v1::Series& series = explanation.series();
  Record record = ValueRecord(series, ValueOf(explanation), true);
  Field instance{.name = "instance"};
  if (series.has_instance()) instance.value = series.instance();
  record.push_back({.name = "counterset", .value = series.counterset()});
  record.push_back(
      {.name = "counterset_guid", .value = explanation.counterset_guid()});
  record.push_back(
      {.name = "counter_id", .value = uint32_t{explanation.counter_id()}});
  record.push_back(instance);
  record.push_back(
      {.name = "instance_id", .value = uint32_t{series.instance_id()}});
  record.push_back(
      {.name = "type", .value = perflib::CounterTypeName(series.type())});
  record.push_back(
      {.name = "measured_against", .value = explanation.denominator()});
  record.push_back({.name = "formula", .value = explanation.formula()});
  record.push_back({.name = "arithmetic", .value = explanation.arithmetic()});
  return record;
}

// Returns the record with the two samples.
std::string ToJsonLine(const v1::Explanation& explanation) {
  std::string line = ToJson(ToRecord(explanation));
  line.pop_back();  // the closing brace
  absl::StrAppend(
      &line, ",\"raw0\":",
      explanation.has_older() ? ToJson(RawFields(explanation.older())) : "null",
      ",\"raw1\":", ToJson(RawFields(explanation.newer())), "}");
  return line;
}

void PrintLine(absl::string_view name, const std::string& text) {
  constexpr size_t kIndent = 20;
  const size_t width = TableWidth();
  std::string start = absl::StrFormat("  %-17s ", name);
  for (const std::string& line :
       WrapWords(Printable(text), width > kIndent ? width - kIndent : width)) {
    PutLine(absl::StrCat(start, line));
    start = std::string(kIndent, ' ');
  }
}

std::string SampleText(const v1::RawSample& sample) {
  std::string text =
      absl::StrCat(TimeText(TimeOf(sample)), "  value ",
                   sample.has_value() ? absl::StrCat(sample.value()) : "none",
                   " (", sample.value_size(), " bytes)");
  if (sample.has_denominator()) {
    absl::StrAppend(&text, ", base or time ", sample.denominator());
  }
  if (sample.has_frequency()) {
    absl::StrAppend(&text, ", frequency ", sample.frequency());
  }
  if (sample.has_multi()) {
    absl::StrAppend(&text, ", components ", sample.multi());
  }
  absl::StrAppend(&text, ", PerfTimeStamp ", sample.perf_time_stamp(),
                  ", PerfTime100NSec ", sample.perf_time_100nsec(),
                  ", PerfFreq ", sample.perf_freq(), ", life ", sample.life());
  return text;
}

void PrintText(const v1::Explanation& explanation) {
  const v1::Series& series = explanation.series();
  PutLine(Printable(absl::StrCat("\\\\", series.machine(), series.path())));
  PrintLine("counterset", absl::StrCat(series.counterset(), " ",
                                       explanation.counterset_guid()));
  PrintLine("counter",
            absl::StrCat(series.counter(), ", id ", explanation.counter_id()));
  PrintLine("type", absl::StrFormat("%s (0x%08X)",
                                    perflib::CounterTypeName(series.type()),
                                    series.type()));
  if (series.has_instance()) {
    PrintLine("instance",
              absl::StrCat(series.instance(), ", id ", series.instance_id()));
  }
  if (explanation.has_older()) {
    PrintLine("older sample (0)", SampleText(explanation.older()));
  }
  PrintLine("newer sample (1)", SampleText(explanation.newer()));
  if (!explanation.denominator().empty()) {
    PrintLine("measured against", explanation.denominator());
  }
  if (!explanation.formula().empty()) {
    PrintLine("formula", explanation.formula());
  }
  if (!explanation.arithmetic().empty()) {
    PrintLine("", absl::StrCat("= ", explanation.arithmetic()));
  }
  const Value value = ValueOf(explanation);
  const std::string space = series.unit().empty() ? "" : " ";
  PrintLine("result", value.ok()
                          ? absl::StrFormat("%.17g%s%s", value.value, space,
                                            UnitText(series.unit()))
                          : ValueText(series, value));
}

std::string FailureText(const v1::FailedQuery& failed) {
  return absl::StrCat(
      failed.machine(), ": the counterset \"", failed.counterset(),
      "\" returned no samples at ", TimeText(FromProto(failed.time())), ": ",
      failed.status() == 0 ? "its part of the block is unreadable"
                           : Win32ErrorName(failed.status()));
}

// Returns the explanations by series: of each, the one with the newest sample.
v1::ExplainValueResponse Merge(
    const std::vector<v1::ExplainValueResponse>& responses) {
  std::map<std::string, v1::Explanation> by_key;
  v1::ExplainValueResponse merged;
  for (const v1::ExplainValueResponse& response : responses) {
    DistinctSeriesKeys keys(/*is_sorted=*/false);
    for (const v1::Explanation& explanation : response.explanations()) {
      v1::Explanation& known = by_key[keys.KeyOf(explanation.series())];
      const bool is_older =
          TimeOf(explanation.newer()) <= TimeOf(known.newer());
      if (!known.has_series() || !is_older) known = explanation;
    }
    merged.set_left_out(merged.left_out() + response.left_out());
    merged.mutable_failures()->MergeFrom(response.failures());
  }
  for (const auto& [key, explanation] : by_key) {
    *merged.add_explanations() = explanation;
  }
  return merged;
}

}  // namespace

absl::Status Explain(const Aggregators& aggregators, Format format,
                     const ExplainFlags& flags) {
  v1::ExplainValueRequest request;
  request.set_path(flags.path);
  if (!flags.at.empty()) {
    ASSIGN_OR_RETURN(const absl::Time at, ParseTimeFlag("--at", flags.at));
    *request.mutable_time() = ToProto(at);
  }
  RETURN_IF_ERROR(SetMachines(flags.machines, &request));
  auto progress = MakeProgress("querying", Printing::kAtEnd);
  ASSIGN_OR_RETURN(const auto responses,
                   CallEach(aggregators, &v1::QueryService::Stub::ExplainValue,
                            request, kExplainDeadline));
  progress.reset();
  const v1::ExplainValueResponse response = Merge(responses);
  const auto csv = MakePrinter(Format::kCsv);
  for (const v1::Explanation& explanation : response.explanations()) {
    switch (format) {
      case Format::kJson:
        PutLine(ToJsonLine(explanation));
        break;
      case Format::kCsv:
        csv->Print(ToRecord(explanation));
        break;
      default:
        PrintText(explanation);
    }
  }
  if (response.left_out() > 0) {
    PrintNote(absl::StrCat("and ", response.left_out(),
                           " more series; select fewer with a more specific "
                           "path"));
  }
  for (const v1::FailedQuery& failed : response.failures()) {
    PrintNote(FailureText(failed));
  }
  if (response.explanations_size() > 0) return absl::OkStatus();
  return MissingError(absl::NotFoundError(absl::StrCat(
      Excerpt(flags.path),
      ": no sample at this time or shortly before; see the times of the newest "
      "samples: fleetperf machines")));
}

}  // namespace fleetperf::cli
