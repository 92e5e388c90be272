#include "cli/pdh_csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/times.h"

namespace fleetperf::cli {
namespace {

// The text of a missing value.
constexpr char kNoValue[] = " ";

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// Returns the format's name, the time zone and its bias in minutes.
std::string TitleAt(absl::Time time) {
  if (UserZone() == absl::UTCTimeZone()) {
    return "(PDH-CSV 4.0) (Coordinated Universal Time)(0)";
  }
  const absl::TimeZone::CivilInfo civil = UserZone().At(time);
  return absl::StrCat("(PDH-CSV 4.0) (", civil.zone_abbr, ")(",
                      -civil.offset / 60, ")");
}

// Returns the fewest digits that identify the number.
std::string Shortest(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

// Returns the path of a series. That of a group has its labels as the machine,
// and its instance: \\role=web\PhysicalDisk(sda)\Disk Bytes/sec. Counters of a
// counterset that are combined have their unit.
std::string ColumnNameOf(const v1::Series& series) {
  std::vector<std::string> machine;
  if (!series.machine().empty()) machine.push_back(series.machine());
  for (const auto& [name, value] :
       std::map(series.labels().begin(), series.labels().end())) {
    machine.push_back(absl::StrCat(name, "=", value));
  }
  std::string path = series.path();
  const size_t counter = path.rfind('\\');
  if (IsGroupOfInstance(series) && counter != path.npos) {
    path.insert(counter, absl::StrCat("(", series.instance(), ")"));
  }
  std::string name = PathOnMachine(absl::StrJoin(machine, ","), path);
  if (series.counter() == "*" && !series.unit().empty()) {
    absl::StrAppend(&name, " in ", series.unit());
  }
  return name;
}

}  // namespace

size_t PdhCsv::ColumnOf(const v1::Series& series) {
  const auto [entry, is_new] =
      column_of_series_.try_emplace(series.id(), columns_.size());
  if (is_new) {
    order_.push_back(columns_.size());
    columns_.push_back({.series = series});
  }
  return entry->second;
}

void PdhCsv::SortColumns(const Less& less) {
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return less(columns_[a].series, columns_[b].series);
  });
}

int64_t PdhCsv::RowOf(absl::Time time) const {
  if (step_ == absl::ZeroDuration()) return 0;
  absl::Duration rest;
  return absl::IDivDuration(absl::Ceil(time - origin_, step_), step_, &rest);
}

absl::Time PdhCsv::TimeOf(int64_t number, const Row& row) const {
  if (step_ == absl::ZeroDuration()) return last_;
  return row.has_whole ? origin_ + number * step_ : row.partial_end;
}

// Later values are placed by their distance to the first one, so that ticks
// that are a moment early or late do not leave their row.
int64_t PdhCsv::Add(const v1::Series& series, const Value& value) {
  last_ = std::max(last_, value.time);
  const size_t index = ColumnOf(series);
  Column& column = columns_[index];
  if (!column.first.has_value()) {
    column.first = value.time;
    column.first_row = RowOf(value.time);
  }
  int64_t number = column.first_row;
  if (step_ > absl::ZeroDuration()) {
    const double steps = absl::FDivDuration(value.time - *column.first, step_);
    number += std::llround(value.is_partial ? std::ceil(steps) : steps);
  }
  if (number < first_row_) return number;
  Row& row = rows_[number];
  if (value.is_partial) {
    row.partial_end = std::max(row.partial_end, value.time);
  } else {
    row.has_whole = true;
  }
  if (value.ok()) row.cells[index] = value.value;
  return number;
}

std::string PdhCsv::Header() const {
  const absl::Time first =
      rows_.empty() ? last_
                    : TimeOf(rows_.begin()->first, rows_.begin()->second);
  std::string line = Quoted(TitleAt(first));
  // Names of series of a query differ, those of groups need not.
  std::set<std::string> names;
  for (const size_t column : order_) {
    const std::string name = ColumnNameOf(columns_[column].series);
    std::string unique = name;
    for (int number = 2; !names.insert(unique).second; ++number) {
      unique = absl::StrCat(name, " #", number);
    }
    absl::StrAppend(&line, ",", Quoted(unique));
  }
  return line;
}

std::string PdhCsv::LineOf(int64_t number, const Row& row) const {
  std::string line = Quoted(
      absl::FormatTime("%m/%d/%Y %H:%M:%E3S", TimeOf(number, row), UserZone()));
  for (const size_t column : order_) {
    const auto cell = row.cells.find(column);
    absl::StrAppend(
        &line, ",",
        Quoted(cell != row.cells.end() ? Shortest(cell->second) : kNoValue));
  }
  return line;
}

std::vector<std::string> PdhCsv::Lines() const {
  std::vector<std::string> lines = {Header()};
  for (const auto& [number, row] : rows_) lines.push_back(LineOf(number, row));
  return lines;
}

std::vector<std::string> PdhCsv::TakeRows(int64_t last) {
  std::vector<std::string> lines;
  const auto end = rows_.upper_bound(last);
  for (auto row = rows_.begin(); row != end; ++row) {
    lines.push_back(LineOf(row->first, row->second));
  }
  rows_.erase(rows_.begin(), end);
  first_row_ = std::max(first_row_, last == INT64_MAX ? last : last + 1);
  return lines;
}

}  // namespace fleetperf::cli
