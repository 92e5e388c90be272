#include "aggregator/cli/pdh_csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace fleetperf::cli {
namespace {

// The format's name, the time zone and its bias in minutes.
constexpr char kHeader[] = "(PDH-CSV 4.0) (Coordinated Universal Time)(0)";
// The text of a missing value.
constexpr char kNoValue[] = " ";

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
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

size_t PdhCsv::ColumnOf(const v1::Series& series, absl::Time first) {
  const auto [entry, is_new] =
      column_of_series_.try_emplace(series.id(), columns_.size());
  if (is_new) columns_.push_back({UniqueName(series), first, RowOf(first)});
  return entry->second;
}

// Names of series of a query differ, those of groups need not.
std::string PdhCsv::UniqueName(const v1::Series& series) {
  const std::string name = ColumnNameOf(series);
  std::string unique = name;
  for (int number = 2; !names_.insert(unique).second; ++number) {
    unique = absl::StrCat(name, " #", number);
  }
  return unique;
}

int64_t PdhCsv::RowOf(absl::Time time) const {
  if (step_ == absl::ZeroDuration()) return 0;
  absl::Duration rest;
  return absl::IDivDuration(absl::Ceil(time - absl::UnixEpoch(), step_), step_,
                            &rest);
}

absl::Time PdhCsv::TimeOf(int64_t row) const {
  return step_ == absl::ZeroDuration() ? last_
                                       : absl::UnixEpoch() + row * step_;
}

// Later values are placed by their distance to the first one, so that ticks
// that are a moment early or late do not leave their row.
void PdhCsv::Add(const v1::Series& series, const Value& value) {
  last_ = std::max(last_, value.time);
  const size_t number = ColumnOf(series, value.time);
  const Column& column = columns_[number];
  int64_t row = column.first_row;
  if (step_ > absl::ZeroDuration()) {
    row += std::llround(absl::FDivDuration(value.time - column.first, step_));
  }
  auto& cells = rows_[row];
  if (value.ok()) cells[number] = value.value;
}

std::vector<std::string> PdhCsv::Lines() const {
  std::vector<std::string> lines = {Quoted(kHeader)};
  for (const Column& column : columns_) {
    absl::StrAppend(&lines.front(), ",", Quoted(column.name));
  }
  for (const auto& [row, values] : rows_) {
    std::string& line = lines.emplace_back(Quoted(absl::FormatTime(
        "%m/%d/%Y %H:%M:%E3S", TimeOf(row), absl::UTCTimeZone())));
    for (size_t i = 0; i < columns_.size(); ++i) {
      const auto value = values.find(i);
      absl::StrAppend(
          &line, ",",
          Quoted(value != values.end() ? Shortest(value->second) : kNoValue));
    }
  }
  return lines;
}

}  // namespace fleetperf::cli
