#include "aggregator/cli/series_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator/cli/numbers.h"
#include "aggregator/cli/table.h"

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
  const auto add = [&](const char* name, const std::optional<double>& value,
                       ColumnRole role) {
    Field& field = record->emplace_back(Field{.name = name, .role = role});
    if (!value.has_value()) return;
    field.value = *value;
    field.text = ScaledNumberOf(series, *value, scale);
  };
  add("last", last, ColumnRole::kKey);
  add("avg", average, ColumnRole::kExtra);
  add("min", min, ColumnRole::kExtra);
  add("max", max, ColumnRole::kSpare);
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
  }
}

Record SeriesTable::ToRecord(const Row& row) {
  Record record = row.name;
  AddNumbers(row.series, row.values, &record);
  uint64_t gaps = 0;
  for (const auto& [cause, count] : row.missing) gaps += count;
  Field& field = record.emplace_back(Field{.name = "gaps", .value = gaps});
  if (gaps == 0) field.text = "";
  record.push_back({.name = "cause",
                    .value = MissingText(row.missing),
                    .role = ColumnRole::kText});
  return record;
}

std::vector<std::string> SeriesTable::Lines(
    size_t width, std::optional<Characters> trend) const {
  std::vector<Record> records;
  for (const Row& row : rows_) records.push_back(ToRecord(row));
  const TrendColumn column{.max_cells = kMaxTrend,
                           .draw = [&](size_t row, size_t cells) {
                             return Sparkline(rows_[row].values, cells, *trend);
                           }};
  std::vector<std::string> lines =
      FormatTable(records, width, trend.has_value() ? &column : nullptr);
  if (!lines.empty()) {
    lines.insert(lines.begin(), FormatRange(first_ - step_, last_));
  }
  return lines;
}

}  // namespace fleetperf::cli
