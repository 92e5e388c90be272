#include "aggregator/cli/query.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "aggregator/cli/collect.h"
#include "aggregator/cli/command_progress.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/connection.h"
#include "aggregator/cli/pdh_csv.h"
#include "aggregator/cli/raw_samples.h"
#include "aggregator/cli/series_table.h"
#include "aggregator/cli/table.h"
#include "aggregator/cli/terminal.h"
#include "aggregator/cli/times.h"
#include "aggregator/cli/totals_title.h"
#include "aggregator/cli/values.h"
#include "aggregator/formula/unit.h"
#include "base/rpc_deadline.h"
#include "base/status_macros.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "perflib/registration.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kQueryDeadline = absl::Minutes(5);
constexpr absl::Duration kDefaultSince = absl::Minutes(5);
constexpr absl::string_view kLabelPrefix = "label:";

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

absl::StatusOr<v1::AggregateFunction> ParseAggregate(const std::string& text) {
  if (text.empty()) return v1::AGGREGATE_FUNCTION_UNSPECIFIED;
  if (text == "auto") return v1::AGGREGATE_FUNCTION_AUTO;
  if (text == "avg") return v1::AGGREGATE_FUNCTION_AVERAGE;
  if (text == "sum") return v1::AGGREGATE_FUNCTION_SUM;
  if (text == "min") return v1::AGGREGATE_FUNCTION_MINIMUM;
  if (text == "max") return v1::AGGREGATE_FUNCTION_MAXIMUM;
  if (text == "count") return v1::AGGREGATE_FUNCTION_COUNT;
  if (text == "p50") return v1::AGGREGATE_FUNCTION_P50;
  if (text == "p90") return v1::AGGREGATE_FUNCTION_P90;
  if (text == "p95") return v1::AGGREGATE_FUNCTION_P95;
  if (text == "p99") return v1::AGGREGATE_FUNCTION_P99;
  return absl::InvalidArgumentError(
      absl::StrCat("--agg: \"", text,
                   "\" is not auto, avg, sum, min, max, count, p50, p90, p95 "
                   "or p99"));
}

absl::Status AddGrouping(const std::string& text,
                         v1::QueryRangeRequest* request) {
  absl::string_view label = text;
  if (text == "machine") {
    request->add_by(v1::GROUPING_MACHINE);
  } else if (text == "instance") {
    request->add_by(v1::GROUPING_INSTANCE);
  } else if (text == "name") {
    request->add_by(v1::GROUPING_NAME);
  } else if (text == "counter") {
    request->add_by(v1::GROUPING_COUNTER);
  } else if (text == "counterset") {
    request->add_by(v1::GROUPING_COUNTERSET);
  } else if (absl::ConsumePrefix(&label, kLabelPrefix) && !label.empty()) {
    request->add_by_labels(std::string(label));
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "--by: \"", text,
        "\" is not machine, instance, name, counter, counterset or "
        "label:NAME"));
  }
  return absl::OkStatus();
}

template <typename Request>
absl::Status SetRange(const QueryFlags& flags, Request* request) {
  if (!flags.since.empty() && !flags.from.empty()) {
    return absl::InvalidArgumentError(
        "--since and --from exclude each other: both set the start");
  }
  if (!flags.from.empty()) {
    ASSIGN_OR_RETURN(const absl::Time from,
                     ParseTimeFlag("--from", flags.from));
    *request->mutable_start_time() = ToProto(from);
  } else {
    absl::Duration since = kDefaultSince;
    if (!flags.since.empty()) {
      ASSIGN_OR_RETURN(since, ParseDurationFlag("--since", flags.since));
    }
    *request->mutable_since() = ToProto(since);
  }
  if (!flags.to.empty()) {
    ASSIGN_OR_RETURN(const absl::Time to, ParseTimeFlag("--to", flags.to));
    *request->mutable_end_time() = ToProto(to);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::Condition> ParseCondition(absl::string_view text) {
  // An operator must precede the operators that are its prefixes.
  constexpr std::pair<absl::string_view, v1::Comparison> kComparisons[] = {
      {">=", v1::COMPARISON_GREATER_OR_EQUAL},
      {"<=", v1::COMPARISON_LESS_OR_EQUAL},
      {"!=", v1::COMPARISON_NOT_EQUAL},
      {">", v1::COMPARISON_GREATER},
      {"<", v1::COMPARISON_LESS},
      {"=", v1::COMPARISON_EQUAL}};
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(text);
  for (const auto& [symbol, comparison] : kComparisons) {
    if (!absl::ConsumePrefix(&rest, symbol)) continue;
    // The unit starts after the last digit.
    const size_t digits = rest.find_last_of("0123456789.");
    double number;
    if (digits == absl::string_view::npos ||
        !absl::SimpleAtod(rest.substr(0, digits + 1), &number) ||
        !std::isfinite(number)) {
      break;
    }
    const absl::string_view unit =
        absl::StripAsciiWhitespace(rest.substr(digits + 1));
    const absl::Status known = aggregator::CheckUnit(unit);
    if (!known.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--where: ", known.message()));
    }
    v1::Condition condition;
    condition.set_comparison(comparison);
    condition.set_number(number);
    condition.set_unit(std::string(unit));
    return condition;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--where: \"", text,
                   "\" is not >, >=, <, <=, = or != and a number, as in '> "
                   "90' or '>= 1.5 GiB'"));
}

absl::StatusOr<v1::QueryRangeRequest> MakeRequest(const QueryFlags& flags) {
  v1::QueryRangeRequest request;
  for (const std::string& path : flags.paths) request.add_paths(path);
  RETURN_IF_ERROR(SetRange(flags, &request));
  RETURN_IF_ERROR(SetMachines(flags.machines, &request));
  if (!flags.step.empty()) {
    ASSIGN_OR_RETURN(const absl::Duration step,
                     ParseDurationFlag("--step", flags.step));
    *request.mutable_step() = ToProto(step);
  }
  ASSIGN_OR_RETURN(const v1::Over over, ParseOver(flags.over));
  request.set_over(over);
  if (flags.top > 0 && flags.bottom > 0) {
    return absl::InvalidArgumentError(
        "--top and --bottom exclude each other; run one query for each");
  }
  request.set_top(flags.top);
  request.set_bottom(flags.bottom);
  if (!flags.where.empty()) {
    ASSIGN_OR_RETURN(*request.mutable_where(), ParseCondition(flags.where));
  }
  ASSIGN_OR_RETURN(const auto aggregate, ParseAggregate(flags.agg));
  request.set_aggregate(aggregate);
  if (flags.agg.empty() && !flags.by.empty()) {
    return absl::InvalidArgumentError("--by requires --agg; add --agg auto");
  }
  for (const std::string& text : flags.by) {
    RETURN_IF_ERROR(AddGrouping(text, &request));
  }
  return request;
}

namespace {

// Returns the value adjusted as the flags demand.
Value Displayed(const QueryFlags& flags, const v1::Series& series,
                Value value) {
  if (flags.cap100 && series.unit() == "%") {
    value.value = std::min(value.value, 100.0);
  }
  if (flags.scale) {
    value.value *= std::pow(10.0, perflib::ScaleOr0(series.default_scale()));
  }
  return value;
}

bool GroupsBy(const v1::QueryRangeRequest& request, v1::Grouping grouping) {
  return std::count(request.by().begin(), request.by().end(), grouping) > 0;
}

Record ToRecord(const v1::QueryRangeRequest& request, const v1::Series& series,
                const Value& value) {
  Record record = ValueRecord(series, value, request.has_step());
  // After the machine: an object in JSON, otherwise a column for each.
  Record labels;
  Record columns;
  for (const std::string& name : request.by_labels()) {
    const auto label = series.labels().find(name);
    const std::string text =
        label != series.labels().end() ? label->second : "";
    labels.push_back({.name = name, .value = text});
    columns.push_back({.name = absl::StrCat(kLabelPrefix, name),
                       .value = text,
                       .shown_in = kInTables | kInCsv});
  }
  if (!labels.empty()) {
    columns.push_back(
        {.name = "labels", .value = std::move(labels), .shown_in = kInJson});
  }
  if (GroupsBy(request, v1::GROUPING_INSTANCE)) {
    columns.insert(columns.begin(), {.name = "instance",
                                     .value = series.instance(),
                                     .shown_in = kInCsv | kInJson});
  } else if (GroupsBy(request, v1::GROUPING_NAME)) {
    columns.insert(columns.begin(), {.name = "name",
                                     .value = series.instance(),
                                     .shown_in = kInCsv | kInJson});
  }
  record.insert(record.begin() + 1, columns.begin(), columns.end());
  return record;
}

// Shows how far a query is, until the result itself shows it.
class QueryProgress {
 public:
  // `printing` is that of the result.
  explicit QueryProgress(Printing printing)
      : ends_with_values_(ResultShowsProgress(printing)),
        // The first value may take long, however values are printed.
        progress_(MakeProgress("querying", Printing::kAtEnd)) {}

  void SetMachines(const v1::QueryProgress& progress) {
    if (progress.machines() < 2) return;  // would say nothing
    machines_ = absl::StrCat(progress.machines_read(), " of ",
                             progress.machines(), " machines");
    Show();
  }
  // Must be called before values are printed.
  void BeforeValues() {
    if (ends_with_values_) progress_.reset();
  }
  void AddValues(int values) {
    values_ += values;
    Show();
  }
  uint64_t values() const { return values_; }
  void End() { progress_.reset(); }

 private:
  void Show() {
    if (progress_ == nullptr) return;
    std::vector<std::string> parts;
    if (!machines_.empty()) parts.push_back(machines_);
    if (values_ > 0) parts.push_back(absl::StrCat(values_, " values"));
    progress_->Update(absl::StrJoin(parts, ", "));
  }

  const bool ends_with_values_;
  std::unique_ptr<Progress> progress_;  // null: not shown
  std::string machines_;
  uint64_t values_ = 0;
};

absl::Status NoSamples() {
  return MissingError(absl::NotFoundError(
      "no samples in this time; choose an earlier start, or see the times of "
      "the newest samples: fleetperf machines"));
}

}  // namespace

absl::Status ForEachResult(
    const Connection& connection, const QueryFlags& flags,
    const v1::QueryRangeRequest& request, Printing printing,
    const std::function<void(const v1::Series&, const Value&)>& use) {
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kQueryDeadline));
  const auto stub = v1::QueryService::NewStub(connection.channel());
  QueryProgress progress(printing);
  v1::QueryRangeRequest asked = request;
  asked.set_with_progress(true);
  const auto reader = stub->QueryRange(&context, asked);
  std::map<uint32_t, v1::Series> series;
  v1::QueryRangeResponse response;
  RpcStage stage = RpcStage::kConnecting;
  while (reader->Read(&response)) {
    stage = RpcStage::kAnswering;
    if (response.has_series()) {
      series[response.series().id()] = response.series();
      continue;
    }
    if (response.has_missing()) {
      connection.AddMissing(response.missing());
      continue;
    }
    if (response.has_silent()) {
      connection.AddSilent(response.silent());
      continue;
    }
    if (response.has_unreachable()) {
      connection.AddUnreachable(response.unreachable());
      continue;
    }
    if (response.has_progress()) {
      progress.SetMachines(response.progress());
      continue;
    }
    progress.BeforeValues();
    const v1::Series& of_points = series[response.points().series()];
    ForEachValue(response.points(), [&](const Value& value) {
      use(of_points, Displayed(flags, of_points, value));
    });
    progress.AddValues(response.points().values_size());
    if (HasOutputFailed()) context.TryCancel();
  }
  if (HasOutputFailed()) return absl::OkStatus();  // FinishOutput has the error
  RETURN_IF_ERROR(connection.Explain(reader->Finish(), stage));
  // With a condition, an empty result is a valid answer.
  return progress.values() > 0 || request.has_where() ? absl::OkStatus()
                                                      : NoSamples();
}

namespace {

// A table needs all values before it prints the first line.
Printing PrintingOf(Format format) {
  return format == Format::kTable ? Printing::kAtEnd : Printing::kMeanwhile;
}

// Whether a query that ended with `status` has an answer to print: a path that
// matches nothing does not affect the others.
bool HasAnswer(const absl::Status& status) {
  return status.ok() || absl::IsNotFound(status);
}

absl::Status QueryRaw(const Connection& connection, Format format,
                      const QueryFlags& flags) {
  if (!flags.step.empty() || !flags.over.empty() || !flags.agg.empty() ||
      flags.top > 0 || flags.bottom > 0 || !flags.where.empty() ||
      flags.scale || flags.cap100 || format == Format::kPdhCsv) {
    return absl::InvalidArgumentError(
        "--raw returns unprocessed samples: use it only with --since, --from, "
        "--to and --format table, csv or json");
  }
  v1::QueryRawRequest request;
  for (const std::string& path : flags.paths) request.add_paths(path);
  RETURN_IF_ERROR(SetRange(flags, &request));
  RETURN_IF_ERROR(SetMachines(flags.machines, &request));
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kQueryDeadline));
  const auto stub = v1::QueryService::NewStub(connection.channel());
  QueryProgress progress(PrintingOf(format));
  request.set_with_progress(true);
  const auto reader = stub->QueryRaw(&context, request);
  const auto printer = MakePrinter(format);
  v1::Series series;
  v1::QueryRawResponse response;
  RpcStage stage = RpcStage::kConnecting;
  while (reader->Read(&response)) {
    stage = RpcStage::kAnswering;
    if (response.has_progress()) progress.SetMachines(response.progress());
    if (response.has_series()) series = response.series();
    if (response.has_missing()) connection.AddMissing(response.missing());
    if (response.has_silent()) connection.AddSilent(response.silent());
    if (response.has_unreachable()) {
      connection.AddUnreachable(response.unreachable());
    }
    if (response.has_samples()) progress.BeforeValues();
    for (const v1::RawSample& sample : response.samples().samples()) {
      printer->Print(RawRecord(series, sample));
    }
    progress.AddValues(response.samples().samples_size());
    if (HasOutputFailed()) context.TryCancel();
  }
  if (HasOutputFailed()) return absl::OkStatus();
  const absl::Status status = connection.Explain(reader->Finish(), stage);
  progress.End();
  if (HasAnswer(status)) printer->Finish();
  if (!status.ok()) return status;
  return progress.values() > 0 ? absl::OkStatus() : NoSamples();
}

absl::Status PrintPdhCsv(const Connection& connection, const QueryFlags& flags,
                         const v1::QueryRangeRequest& request) {
  PdhCsv csv(request.has_step() ? FromProto(request.step())
                                : absl::ZeroDuration());
  const absl::Status status =
      ForEachResult(connection, flags, request, Printing::kAtEnd,
                    [&](const v1::Series& series, const Value& value) {
                      csv.Add(series, value);
                    });
  if (!HasAnswer(status) || csv.is_empty()) return status;
  for (const std::string& line : csv.Lines()) PutLine(line, "\r\n");
  return status;
}

absl::Status PrintSeriesTable(const Connection& connection,
                              const QueryFlags& flags,
                              const v1::QueryRangeRequest& request) {
  SeriesTable table(FromProto(request.step()));
  const absl::Status status = ForEachResult(
      connection, flags, request, Printing::kAtEnd,
      [&](const v1::Series& series, const Value& value) {
        table.Add(ToRecord(request, series, value), series, value);
      });
  if (!HasAnswer(status)) return status;
  std::optional<Characters> trend;
  if (IsTerminal()) trend = ShownCharacters();
  for (const std::string& line : table.Lines(TableWidth(), trend)) {
    PutLine(line);
  }
  return status;
}

absl::Status PrintValues(const Connection& connection, Format format,
                         const QueryFlags& flags,
                         const v1::QueryRangeRequest& request) {
  const auto printer = MakePrinter(format);
  return ForEachResult(connection, flags, request, PrintingOf(format),
                       [&](const v1::Series& series, const Value& value) {
                         printer->Print(ToRecord(request, series, value));
                       });
}

// Prints one value per series, below a line that describes the values.
absl::Status PrintTotals(const Connection& connection, const QueryFlags& flags,
                         const v1::QueryRangeRequest& request) {
  TotalsTitle title(request, flags.agg);
  std::vector<Record> records;
  const absl::Status status =
      ForEachResult(connection, flags, request, Printing::kAtEnd,
                    [&](const v1::Series& series, const Value& value) {
                      title.Add(series);
                      records.push_back(ToRecord(request, series, value));
                    });
  if (!HasAnswer(status) || records.empty()) return status;
  for (const std::string& line : WrapWords(title.Text(), TableWidth())) {
    PutLine(line);
  }
  for (const std::string& line : FormatTable(records, TableWidth())) {
    PutLine(line);
  }
  return status;
}

}  // namespace

namespace {

// Makes agents collect, then queries the collected time.
absl::Status CollectAndQuery(const Connection& connection, Format format,
                             QueryFlags flags) {
  if (!flags.since.empty() || !flags.from.empty() || !flags.to.empty()) {
    return absl::InvalidArgumentError(
        "--collect sets the time range of the query; remove "
        "--since, --from or --to");
  }
  flags.since = std::exchange(flags.collect, "");
  {
    ASSIGN_OR_RETURN(const auto collecting,
                     Collecting::Begin(connection,
                                       {.paths = flags.paths,
                                        .duration = flags.since,
                                        .machines = flags.machines},
                                       /*stop=*/nullptr));
    RETURN_IF_ERROR(collecting->WaitForEnd());
  }
  return Query(connection, format, flags);
}

}  // namespace

absl::Status Query(const Connection& connection, Format format,
                   const QueryFlags& flags) {
  if (!flags.collect.empty()) {
    return CollectAndQuery(connection, format, flags);
  }
  if (flags.raw) return QueryRaw(connection, format, flags);
  ASSIGN_OR_RETURN(const v1::QueryRangeRequest request, MakeRequest(flags));
  if (format == Format::kPdhCsv) return PrintPdhCsv(connection, flags, request);
  if (format == Format::kTable && request.has_step()) {
    return PrintSeriesTable(connection, flags, request);
  }
  if (format == Format::kTable) {
    return PrintTotals(connection, flags, request);
  }
  return PrintValues(connection, format, flags, request);
}

}  // namespace fleetperf::cli
