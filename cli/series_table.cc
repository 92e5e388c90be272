#include "cli/series_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/numbers.h"
#include "cli/table.h"
#include "cli/times.h"
#include "cli/totals_title.h"

namespace fleetperf::cli {
namespace {

constexpr size_t kMaxTrend = 60;

// Returns "12 no_samples, 1 reset"; with a single cause, "no_samples"; empty if
// no value is missing.
std::string MissingText(const std::map<std::string, uint64_t>& missing) {
  if (missing.size() == 1) return missing.begin()->first;
  return absl::StrJoin(missing, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second, " ", entry.first);
  });
}

// Adds the share, last value, average, minimum, maximum and unit; empty fields
// if there is no value.
void AddNumbers(const v1::Series& series, absl::Span<const TimedValue> values,
                const std::optional<double>& share, Record* record) {
  std::optional<double> last, average, min, max;
  double sum = 0;
  size_t count = 0;
  for (const TimedValue& timed : values) {
    const std::optional<double>& value = timed.value;
    if (!value.has_value()) continue;
    last = value;
    min = std::min(min.value_or(*value), *value);
    max = std::max(max.value_or(*value), *value);
    sum += *value;
    ++count;
  }
  if (count > 0) average = sum / static_cast<double>(count);
  const Scale scale =
      ScaleOf(series, std::max(std::fabs(min.value_or(0)), max.value_or(0)));
  const auto add = [&](const char* name, const std::optional<double>& value,
                       ColumnRole role) {
    Field& field = record->emplace_back(Field{.name = name, .role = role});
    if (!value.has_value()) return;
    field.value = *value;
    field.text = ScaledNumberOf(series, *value, scale);
  };
  add("share", share, ColumnRole::kKey);
  add("last", last, ColumnRole::kKey);
  add("avg", average, ColumnRole::kExtra);
  add("min", min, ColumnRole::kExtra);
  add("max", max, ColumnRole::kSpare);
  record->push_back({.name = "unit", .value = count > 0 ? scale.unit : ""});
}

}  // namespace

SeriesTable::SeriesTable(absl::Duration step, v1::QueryRangeRequest request)
    : step_(step), request_(std::move(request)) {}

void SeriesTable::Add(const Record& record, const v1::Series& series,
                      const Value& value) {
  const auto [index, is_new] =
      row_of_series_.try_emplace(series.id(), rows_.size());
  if (is_new) {
    const auto time =
        std::find_if(record.begin(), record.end(),
                     [](const Field& field) { return field.name == "time"; });
    rows_.push_back({.name = Record(record.begin(), time), .series = series});
  }
  Row& row = rows_[index->second];
  row.share = value.share;
  row.ended = value.ended;
  range_end_ = std::max(range_end_, value.range_end.value_or(range_end_));
  TimedValue& timed = row.values.emplace_back(
      TimedValue{.time = value.time, .coverage = value.coverage});
  if (value.ok()) {
    timed.value = value.value;
  } else {
    ++row.missing[ReasonText(value)];
  }
}

SeriesTable::Times SeriesTable::TimesOf() const {
  Times times;
  for (const Row& row : rows_) {
    const auto& ranges =
        times.of_rows.emplace_back(RangesOf(row.values, step_));
    const TimeRange whole = {ranges.front().begin, ranges.back().end};
    times.of_values.Include(whole);
    times.longest = std::max(times.longest, ranges.front().length());
    times.shortest = std::min(
        times.shortest, whole.length() / static_cast<double>(ranges.size()));
  }
  return times;
}

// A bar stands for a value of the row with the most values.
std::string SeriesTable::TrendOf(size_t row, const Times& times,
                                 const TrendScale& scale, size_t cells,
                                 Characters characters) const {
  const double steps =
      absl::FDivDuration(times.of_values.length(), times.shortest);
  const auto bars = static_cast<size_t>(std::max(1.0, std::round(steps)));
  return Sparkline(OnAxis(rows_[row].values, times.of_rows[row],
                          times.of_values, std::min(bars, cells)),
                   cells, characters, scale);
}

// Returns "21:45:12Z", with the date if the table is of more than a day.
std::string SeriesTable::EndText(const std::optional<absl::Time>& end,
                                 const TimeRange& of_values) {
  if (!end.has_value()) return "";
  const std::string text =
      TimeText(absl::FromUnixSeconds(absl::ToUnixSeconds(*end)));
  const bool has_date = of_values.length() > absl::Hours(24);
  return has_date ? text : text.substr(text.find('T') + 1);
}

Record SeriesTable::ToRecord(const Row& row, const TimeRange& of_values,
                             const TimeRange& asked) const {
  constexpr double kWhole = 0.999;
  Record record = row.name;
  AddNumbers(row.series, row.values, row.share, &record);
  Field& covered = record.emplace_back(Field{.name = "covered"});
  const double part = CoveredPart(row.values, step_, asked);
  if (part < kWhole) {
    covered.value = part;
    covered.text = FormatPart(part);
  }
  uint64_t gaps = 0;
  for (const auto& [cause, count] : row.missing) gaps += count;
  Field& field = record.emplace_back(Field{.name = "gaps", .value = gaps});
  if (gaps == 0) field.text = "";
  record.push_back({.name = "ended", .value = EndText(row.ended, of_values)});
  record.push_back({.name = "cause",
                    .value = MissingText(row.missing),
                    .role = ColumnRole::kText});
  return record;
}

std::vector<std::string> SeriesTable::Lines(
    size_t width, std::optional<Characters> trend) const {
  if (rows_.empty()) return {};
  const Times times = TimesOf();
  const TimeRange asked =
      AskedRange(request_, times.of_values, times.longest, range_end_);
  std::vector<Record> records;
  // Rows of one counter have one scale.
  std::map<std::string, TrendScale> scales;
  for (const Row& row : rows_) {
    records.push_back(ToRecord(row, times.of_values, asked));
    TrendScale& scale = scales[ScaleKeyOf(row.series)];
    for (const TimedValue& value : row.values) scale.Add(value.value);
  }
  const TrendColumn column{
      .max_cells = kMaxTrend, .draw = [&](size_t row, size_t cells) {
        return TrendOf(row, times, scales[ScaleKeyOf(rows_[row].series)], cells,
                       *trend);
      }};
  std::vector<std::string> lines =
      FormatTable(records, width, trend.has_value() ? &column : nullptr);
  std::string title = FormatRange(times.of_values.begin, times.of_values.end);
  if (rows_.front().share.has_value()) absl::StrAppend(&title, ", by SHARE");
  if (asked.length() > times.of_values.length()) {
    absl::StrAppend(&title, ": ", RoundDurationText(times.of_values.length()),
                    " of ", RangeText(request_));
  }
  const std::vector<std::string> titles = WrapWords(title, width);
  lines.insert(lines.begin(), titles.begin(), titles.end());
  return lines;
}

}  // namespace fleetperf::cli
