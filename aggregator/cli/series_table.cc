#include "aggregator/cli/series_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator/cli/numbers.h"

namespace fleetperf::cli {
namespace {

constexpr size_t kColumnGap = 2;
// The smallest useful widths of a path and a trend.
constexpr size_t kMinPath = 26;
constexpr size_t kMinTrend = 6;
constexpr size_t kMaxTrend = 60;

size_t LongestLine(const std::vector<std::string>& lines) {
  size_t longest = 0;
  for (const std::string& line : lines) {
    longest = std::max(longest, DisplayWidth(line));
  }
  return longest;
}

// Returns "12 no_samples, 1 reset"; with a single cause, "no_samples"; empty if
// no value is missing.
std::string MissingText(const std::map<std::string, uint64_t>& missing) {
  if (missing.size() == 1) return missing.begin()->first;
  return absl::StrJoin(missing, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second, " ", entry.first);
  });
}

// Adds the last value, average, minimum, maximum and unit; empty fields if
// there is no value.
void AddNumbers(const v1::Series& series,
                const std::vector<std::optional<double>>& values,
                Record* record) {
  std::optional<double> last, average, min, max;
  double sum = 0;
  size_t count = 0;
  for (const std::optional<double>& value : values) {
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
  const auto add = [&](const char* name, const std::optional<double>& value) {
    Field& field = record->emplace_back(Field{.name = name});
    if (!value.has_value()) return;
    field.value = *value;
    field.text = ScaledNumberOf(series, *value, scale);
  };
  add("last", last);
  add("avg", average);
  add("min", min);
  add("max", max);
  record->push_back({.name = "unit", .value = count > 0 ? scale.unit : ""});
}

}  // namespace

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
  first_ = std::min(first_, value.time);
  last_ = std::max(last_, value.time);
  Row& row = rows_[index->second];
  if (value.ok()) {
    row.values.emplace_back(value.value);
  } else {
    row.values.emplace_back(std::nullopt);
    ++row.missing[ReasonText(value)];
    any_missing_ = true;
  }
}

Record SeriesTable::ToRecord(const Row& row, size_t path_width) {
  Record record = row.name;
  for (Field& field : record) {
    if (field.name == "path") {
      field.text = CutFront(row.series.path(), path_width);
    }
  }
  AddNumbers(row.series, row.values, &record);
  uint64_t gaps = 0;
  for (const auto& [cause, count] : row.missing) gaps += count;
  Field& field = record.emplace_back(Field{.name = "gaps", .value = gaps});
  if (gaps == 0) field.text = "";
  return record;
}

std::vector<Record> SeriesTable::ToRecords(size_t path_width) const {
  std::vector<Record> records;
  for (const Row& row : rows_) {
    records.push_back(ToRecord(row, path_width));
    records.back().back().detail = !any_missing_;
  }
  return records;
}

size_t SeriesTable::LongestPath() const {
  size_t longest = 1;
  for (const Row& row : rows_) {
    longest = std::max(longest, DisplayWidth(row.series.path()));
  }
  return longest;
}

std::vector<std::string> SeriesTable::Lines(
    size_t width, std::optional<Characters> trend) const {
  std::vector<std::string> lines = FormatTable(FitRecords(width, trend), width);
  if (!lines.empty()) {
    lines.insert(lines.begin(), FormatRange(first_, last_));
  }
  return lines;
}

size_t SeriesTable::LongestCause() const {
  size_t longest = 0;
  for (const Row& row : rows_) {
    longest = std::max(longest, MissingText(row.missing).size());
  }
  return longest;
}

std::vector<Record> SeriesTable::FitRecords(
    size_t width, std::optional<Characters> trend) const {
  const size_t path = LongestPath();
  std::vector<Record> records = ToRecords(path);
  if (width > 0) {
    const size_t wanted = trend.has_value() ? kColumnGap + kMinTrend : 0;
    size_t taken = LongestLine(FormatTable(records, 0)) + wanted;
    if (taken > width && path > kMinPath) {
      const size_t cut = std::min(taken - width, path - kMinPath);
      records = ToRecords(path - cut);
      taken -= cut;
    }
    if (trend.has_value() && taken <= width) {
      AddTrends(kMinTrend + width - taken, *trend, &records);
    }
  }
  for (size_t i = 0; any_missing_ && i < records.size(); ++i) {
    records[i].push_back(
        {.name = "cause", .value = MissingText(rows_[i].missing)});
  }
  return records;
}

// `room` is the space for the trend and for causes beyond their minimum width.
void SeriesTable::AddTrends(size_t room, Characters characters,
                            std::vector<Record>* records) const {
  const size_t causes = any_missing_ ? kColumnGap + LongestCause() : 0;
  const size_t cells =
      std::clamp(room - std::min(room, causes), kMinTrend, kMaxTrend);
  for (size_t i = 0; i < records->size(); ++i) {
    (*records)[i].push_back(
        {.name = "trend",
         .value = Sparkline(rows_[i].values, cells, characters)});
  }
}

}  // namespace fleetperf::cli
