#include "cli/pivot.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <variant>

#include "absl/strings/str_cat.h"
#include "cli/numbers.h"
#include "cli/table.h"

namespace fleetperf::cli {
namespace {

constexpr size_t kColumnGap = 2;

bool IsNamed(const Field& field, absl::string_view name) {
  return field.name == name;
}

// Returns the fields that name the row: without the counter.
Record NamesOf(const Record& record) {
  Record names;
  for (const Field& field : record) {
    if (IsNamed(field, "time") || IsNamed(field, "value")) break;
    if (IsNamed(field, "path") || IsNamed(field, "counter")) continue;
    names.push_back(field);
    // CSV has a column for it, which is elsewhere part of the path; groups by
    // instance or name have one already.
    const bool has_column =
        std::any_of(names.begin(), names.end(), [](const Field& other) {
          return other.is_in(kInCsv) &&
                 (IsNamed(other, "instance") || IsNamed(other, "name"));
        });
    if (IsNamed(field, "instance") && !has_column) {
      names.back().shown_in =
          static_cast<uint8_t>(names.back().shown_in | kInCsv);
    }
  }
  return names;
}

// Returns what a row says of its values. A share is one of a counter.
Record MarksOf(const Record& record) {
  Record marks;
  const auto unit =
      std::find_if(record.begin(), record.end(),
                   [](const Field& field) { return IsNamed(field, "unit"); });
  if (unit == record.end()) return marks;
  std::copy_if(unit + 1, record.end(), std::back_inserter(marks),
               [](const Field& field) {
                 return !field.detail && !IsNamed(field, "share");
               });
  return marks;
}

bool HasValue(const Field& field) {
  return !std::holds_alternative<std::monostate>(field.value);
}

// Whether the row says `a` rather than `b` of its values: the smallest part
// that one of them covers, the oldest of their newest samples.
bool IsStronger(const Field& a, const Field& b) {
  if (!HasValue(a) || !HasValue(b)) return HasValue(a);
  if (const double* part = std::get_if<double>(&a.value)) {
    const double* other = std::get_if<double>(&b.value);
    return other != nullptr && *part < *other;
  }
  const absl::Time* time = std::get_if<absl::Time>(&a.value);
  const absl::Time* other = std::get_if<absl::Time>(&b.value);
  return time != nullptr && other != nullptr && *time < *other;
}

size_t WidthOf(const std::vector<std::string>& lines) {
  size_t width = 0;
  for (const std::string& line : lines) {
    width = std::max(width, DisplayWidth(line));
  }
  return width;
}

// Returns the records without the fields from `first` to before `last`.
std::vector<Record> Without(std::vector<Record> records, size_t first,
                            size_t last) {
  for (Record& record : records) {
    record.erase(record.begin() + static_cast<ptrdiff_t>(first),
                 record.begin() + static_cast<ptrdiff_t>(last));
  }
  return records;
}

}  // namespace

size_t Pivot::ColumnOf(const v1::Series& series) {
  // Arithmetic has no counter.
  const std::string& counter =
      series.counter().empty() ? series.path() : series.counter();
  ColumnKey key(series.counterset(), counter, series.unit());
  const auto [known, is_new] = column_of_key_.try_emplace(key, columns_.size());
  if (is_new) {
    columns_.push_back({.key = std::move(key), .series = series});
    ++countersets_of_title_[counter];
  }
  return known->second;
}

Pivot::Row* Pivot::RowOf(const Record& names, const Value& value) {
  std::string text;
  for (const Field& field : names) {
    absl::StrAppend(&text, TableText(field), "\n");
  }
  const absl::Time time = with_time_ ? value.time : absl::UnixEpoch();
  const auto [known, is_new] =
      row_of_name_.try_emplace({time, std::move(text)}, rows_.size());
  if (is_new) rows_.push_back({.time = time, .names = names});
  return &rows_[known->second];
}

void Pivot::Add(const Record& record, const v1::Series& series,
                const Value& value) {
  const size_t number = ColumnOf(series);
  Row& row = *RowOf(NamesOf(record), value);
  row.values[number] = value;
  Column& column = columns_[number];
  if (value.ok()) {
    column.largest = std::max(column.largest, std::fabs(value.value));
  }
  const Record marks = MarksOf(record);
  if (row.marks.empty()) row.marks = marks;
  for (size_t i = 0; i < std::min(marks.size(), row.marks.size()); ++i) {
    if (IsStronger(marks[i], row.marks[i])) row.marks[i] = marks[i];
  }
}

std::string Pivot::TitleOf(const Column& column) const {
  const auto& [counterset, counter, unit] = column.key;
  return countersets_of_title_.at(counter) == 1
             ? counter
             : absl::StrCat(counterset, "\\", counter);
}

Field Pivot::CellOf(const Row& row, size_t number, uint8_t output) const {
  const Column& column = columns_[number];
  Field field{.name = TitleOf(column)};
  const std::string& unit = column.series.unit();
  if (output == kInCsv && !unit.empty()) {
    absl::StrAppend(&field.name, " (", unit, ")");
  }
  const auto found = row.values.find(number);
  if (found == row.values.end()) return field;
  const Value& value = found->second;
  if (!value.ok()) {
    field.text = ReasonText(value);
    return field;
  }
  field.value = value.value;
  const Scale scale = ScaleOf(column.series, column.largest);
  field.text = ScaledNumberOf(column.series, value.value, scale);
  if (!scale.unit.empty()) absl::StrAppend(&*field.text, " ", scale.unit);
  return field;
}

std::vector<Record> Pivot::Records(uint8_t output) const {
  std::vector<const Row*> rows;
  for (const Row& row : rows_) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    return a->time < b->time;
  });
  std::vector<Record> records;
  for (const Row* row : rows) {
    Record& record = records.emplace_back();
    if (with_time_) {
      record.push_back({.name = "time", .value = row->time});
    }
    record.insert(record.end(), row->names.begin(), row->names.end());
    for (size_t i = 0; i < columns_.size(); ++i) {
      record.push_back(CellOf(*row, i, output));
    }
    record.insert(record.end(), row->marks.begin(), row->marks.end());
  }
  return records;
}

std::vector<std::vector<std::string>> Pivot::Tables(size_t width, size_t first,
                                                    size_t count) const {
  std::vector<Record> records = Records(kInTables);
  if (first >= records.size() || columns_.empty()) return {};
  records.erase(records.begin(),
                records.begin() + static_cast<ptrdiff_t>(first));
  if (records.size() > count) records.resize(count);
  const size_t begin = rows_.front().names.size() + (with_time_ ? 1 : 0);
  const size_t end = begin + columns_.size();
  // The names can be cut to this width, unless they need less.
  const size_t names =
      width == 0
          ? 0
          : WidthOf(FormatTable(Without(records, begin, end), width / 2));
  const auto width_of = [&](size_t field) {
    size_t wide = DisplayWidth(records.front()[field].name);
    for (const Record& record : records) {
      wide = std::max(wide, DisplayWidth(TableText(record[field])));
    }
    return kColumnGap + wide;
  };
  std::vector<std::vector<std::string>> tables;
  for (size_t column = begin; column < end;) {
    size_t next = column + 1;
    size_t total = names + width_of(column);
    for (; next < end; ++next) {
      total += width_of(next);
      if (width > 0 && total > width) break;
    }
    tables.push_back(FormatTable(
        Without(Without(records, next, end), begin, column), width));
    column = next;
  }
  return tables;
}

}  // namespace fleetperf::cli
