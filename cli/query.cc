#include "cli/query.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/aggregators.h"
#include "cli/chosen_series.h"
#include "cli/collect.h"
#include "cli/command_progress.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/joined_series.h"
#include "cli/merged_answer.h"
#include "cli/pdh_csv.h"
#include "cli/pivot.h"
#include "cli/query_request.h"
#include "cli/series_table.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/totals_title.h"
#include "cli/values.h"
#include "perflib/registration.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
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
  if (value.share.has_value()) {
    value.share = Displayed(flags, series, {.value = *value.share}).value;
  }
  return value;
}

Record::iterator FindField(Record& record, absl::string_view name) {
  return std::find_if(record.begin(), record.end(),
                      [&](const Field& field) { return field.name == name; });
}

bool GroupsBy(const v1::QueryRangeRequest& request, v1::Grouping grouping) {
  return std::count(request.by().begin(), request.by().end(), grouping) > 0;
}

// Adds the value by which the series ranks: in tables before its value, and in
// JSON unless it is its value. Adds whether its instance has ended, which
// tables show beside the newest sample, and the aggregators of its parts.
void AddRanking(const v1::Series& series, const Value& value, bool has_step,
                Record* record) {
  if (value.share.has_value()) {
    Field share = ShareField(series, value, *value.share);
    share.shown_in = kInTables;
    record->insert(FindField(*record, "value"), share);
    share.shown_in = kInCsv;
    record->push_back(share);
    share.shown_in = kInJson;
    share.detail = true;
    if (!has_step && *value.share == value.value) share.value = {};
    record->push_back(std::move(share));
  }
  Field ended{.name = "ended", .detail = true, .shown_in = kInJson};
  if (value.ended.has_value()) ended.value = true;
  record->push_back(std::move(ended));
  Field aggregators{.name = "aggregators", .detail = true, .shown_in = kInJson};
  if (!value.aggregators.empty()) aggregators.value = value.aggregators;
  record->push_back(std::move(aggregators));
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
  AddRanking(series, value, request.has_step(), &record);
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
  void AddValues(size_t values) {
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

absl::Status NothingSelected(const QueryFlags& flags) {
  return MissingError(absl::NotFoundError(
      absl::StrCat("no series has a value that is ", flags.where,
                   " in this time; to see their values, repeat the command "
                   "without --where")));
}

absl::Status NoSamples() {
  return MissingError(absl::NotFoundError(
      "no samples in this time; choose an earlier start, or see the times of "
      "the newest samples: fleetperf machines"));
}

// Prints nothing more, because the output has failed.
absl::Status OutputFailed() { return absl::CancelledError("output"); }

// Adds what belongs to the series.
void AddSeries(const RangeSeries& series, Value* value) {
  const v1::QueryRangeResponse& head = series.head;
  if (head.has_share()) value->share = head.share();
  if (head.has_ended_unix_nanos()) {
    value->ended = absl::FromUnixNanos(head.ended_unix_nanos());
  }
  if (head.has_range_end_unix_nanos()) {
    value->range_end = absl::FromUnixNanos(head.range_end_unix_nanos());
  }
  if (series.holders.size() > 1) value->aggregators = series.holders;
}

}  // namespace

absl::Status ForEachResult(
    const Aggregators& aggregators, const QueryFlags& flags,
    const v1::QueryRangeRequest& request, Printing printing,
    const std::function<void(const v1::Series&, const Value&)>& use) {
  QueryProgress progress(printing);
  uint32_t last_id = 0;
  const auto show = [&](RangeSeries series) {
    progress.BeforeValues();
    v1::Series& of = *series.head.mutable_series();
    of.set_id(++last_id);
    if (!IsRanked(request)) series.head.clear_share();
    for (Value& value : series.values) {
      AddSeries(series, &value);
      use(of, Displayed(flags, of, value));
    }
    progress.AddValues(series.values.size());
    return HasOutputFailed() ? OutputFailed() : absl::OkStatus();
  };
  const bool spans_machines =
      request.aggregate() != v1::AGGREGATE_FUNCTION_UNSPECIFIED &&
      !GroupsBy(request, v1::GROUPING_MACHINE);
  const AnswerReader<RangeSeries> reader = {
      .use = show,
      .on_progress =
          [&](const v1::QueryProgress& of) { progress.SetMachines(of); },
      .spans_machines = spans_machines};
  const bool chooses = IsRanked(request) || request.has_where();
  const absl::Status status = chooses && aggregators.reached().size() > 1
                                  ? ReadChosen(aggregators, request, reader)
                                  : ReadAnswers(aggregators, request, reader);
  if (HasOutputFailed()) return absl::OkStatus();  // FinishOutput has the error
  RETURN_IF_ERROR(status);
  if (progress.values() > 0) return absl::OkStatus();
  return request.has_where() ? NothingSelected(flags) : NoSamples();
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

absl::Status QueryRaw(const Aggregators& aggregators, Format format,
                      const QueryFlags& flags) {
  if (!flags.step.empty() || !flags.over.empty() || !flags.agg.empty() ||
      flags.top > 0 || flags.bottom > 0 || !flags.where.empty() ||
      flags.scale || flags.cap100 || flags.pivot || format == Format::kPdhCsv) {
    return absl::InvalidArgumentError(
        "--raw returns unprocessed samples: use it only with --since, --from, "
        "--to and --format table, csv or json");
  }
  v1::QueryRawRequest request;
  for (const std::string& path : flags.paths) request.add_paths(path);
  RETURN_IF_ERROR(SetRange(flags, &request));
  RETURN_IF_ERROR(SetMachines(flags.machines, &request));
  QueryProgress progress(PrintingOf(format));
  const auto printer = MakePrinter(format);
  const absl::Status status = ReadAnswers<RawSeries>(
      aggregators, request,
      {.use =
           [&](const RawSeries& series) {
             progress.BeforeValues();
             for (const v1::RawSample& sample : series.values) {
               printer->Print(RawRecord(series.series(), sample));
             }
             progress.AddValues(series.values.size());
             return HasOutputFailed() ? OutputFailed() : absl::OkStatus();
           },
       .on_progress =
           [&](const v1::QueryProgress& of) { progress.SetMachines(of); }});
  if (HasOutputFailed()) return absl::OkStatus();
  progress.End();
  if (HasAnswer(status)) printer->Finish();
  if (!status.ok()) return status;
  return progress.values() > 0 ? absl::OkStatus() : NoSamples();
}

absl::Status PrintPdhCsv(const Aggregators& aggregators,
                         const QueryFlags& flags,
                         const v1::QueryRangeRequest& request) {
  PdhCsv csv(
      request.has_step() ? FromProto(request.step()) : absl::ZeroDuration(),
      request.has_start_time() ? FromProto(request.start_time())
                               : absl::UnixEpoch());
  const absl::Status status =
      ForEachResult(aggregators, flags, request, Printing::kAtEnd,
                    [&](const v1::Series& series, const Value& value) {
                      csv.Add(series, value);
                    });
  if (!HasAnswer(status) || csv.is_empty()) return status;
  PutLines(csv.Lines(), "\r\n");
  return status;
}

absl::Status PrintPivot(const Aggregators& aggregators, Format format,
                        const QueryFlags& flags,
                        const v1::QueryRangeRequest& request) {
  if (format != Format::kTable && format != Format::kCsv) {
    return absl::InvalidArgumentError(
        "--pivot is for tables and csv: json has one object per value, and "
        "pdh-csv has counters as columns anyway; remove --pivot or --format");
  }
  Pivot pivot(request.has_step());
  TotalsTitle title(request, flags.agg);
  const absl::Status status = ForEachResult(
      aggregators, flags, request, Printing::kAtEnd,
      [&](const v1::Series& series, const Value& value) {
        title.Add(series);
        pivot.Add(ToRecord(request, series, value), series, value);
      });
  if (!HasAnswer(status) || pivot.rows() == 0) return status;
  if (format == Format::kCsv) {
    const auto printer = MakePrinter(format);
    for (const Record& record : pivot.Records(kInCsv)) printer->Print(record);
    return status;
  }
  if (!request.has_step()) PutLines(WrapWords(title.Text(), TableWidth()));
  bool is_first = true;
  for (const auto& table : pivot.Tables(TableWidth(), 0, pivot.rows())) {
    if (!std::exchange(is_first, false)) PutLine("");
    PutLines(table);
  }
  return status;
}

absl::Status PrintSeriesTable(const Aggregators& aggregators,
                              const QueryFlags& flags,
                              const v1::QueryRangeRequest& request) {
  SeriesTable table(FromProto(request.step()), request);
  const absl::Status status = ForEachResult(
      aggregators, flags, request, Printing::kAtEnd,
      [&](const v1::Series& series, const Value& value) {
        table.Add(ToRecord(request, series, value), series, value);
      });
  if (!HasAnswer(status)) return status;
  std::optional<Characters> trend;
  if (IsTerminal()) trend = ShownCharacters();
  PutLines(table.Lines(TableWidth(), trend));
  return status;
}

absl::Status PrintValues(const Aggregators& aggregators, Format format,
                         const QueryFlags& flags,
                         const v1::QueryRangeRequest& request) {
  const auto printer = MakePrinter(format);
  return ForEachResult(aggregators, flags, request, PrintingOf(format),
                       [&](const v1::Series& series, const Value& value) {
                         printer->Print(ToRecord(request, series, value));
                       });
}

// Omits the column of tables.
void HideShares(std::vector<Record>* records) {
  for (Record& record : *records) {
    const auto share = FindField(record, "share");  // that of tables
    if (share != record.end()) share->text = "";
  }
}

// Prints one value per series, below a line that describes the values.
absl::Status PrintTotals(const Aggregators& aggregators,
                         const QueryFlags& flags,
                         const v1::QueryRangeRequest& request) {
  TotalsTitle title(request, flags.agg);
  std::vector<Record> records;
  bool has_shares = false;  // that are not the values
  const absl::Status status = ForEachResult(
      aggregators, flags, request, Printing::kAtEnd,
      [&](const v1::Series& series, const Value& value) {
        title.Add(series);
        records.push_back(ToRecord(request, series, value));
        has_shares |= value.share.value_or(value.value) != value.value;
      });
  if (!HasAnswer(status) || records.empty()) return status;
  if (!has_shares) HideShares(&records);
  const std::string order =
      has_shares ? "; ranked by SHARE, the value times PRESENCE" : "";
  PutLines(WrapWords(absl::StrCat(title.Text(), order), TableWidth()));
  PutLines(FormatTable(records, TableWidth()));
  return status;
}

// Makes agents collect, then queries the collected time.
absl::Status CollectAndQuery(const Aggregators& aggregators, Format format,
                             QueryFlags flags) {
  if (!flags.since.empty() || !flags.from.empty() || !flags.to.empty()) {
    return absl::InvalidArgumentError(
        "--collect sets the time range of the query; remove "
        "--since, --from or --to");
  }
  flags.since = std::exchange(flags.collect, "");
  {
    ASSIGN_OR_RETURN(const auto collecting,
                     Collecting::Begin(aggregators,
                                       {.paths = flags.paths,
                                        .duration = flags.since,
                                        .machines = flags.machines},
                                       /*stop=*/nullptr));
    RETURN_IF_ERROR(collecting->WaitForEnd());
  }
  return Query(aggregators, format, flags);
}

}  // namespace

absl::Status Query(const Aggregators& aggregators, Format format,
                   const QueryFlags& flags) {
  if (!flags.collect.empty()) {
    return CollectAndQuery(aggregators, format, flags);
  }
  if (flags.raw) return QueryRaw(aggregators, format, flags);
  ASSIGN_OR_RETURN(const v1::QueryRangeRequest request, MakeRequest(flags));
  if (flags.pivot) return PrintPivot(aggregators, format, flags, request);
  if (format == Format::kPdhCsv)
    return PrintPdhCsv(aggregators, flags, request);
  if (format == Format::kTable && request.has_step()) {
    return PrintSeriesTable(aggregators, flags, request);
  }
  if (format == Format::kTable) {
    return PrintTotals(aggregators, flags, request);
  }
  return PrintValues(aggregators, format, flags, request);
}

}  // namespace fleetperf::cli
