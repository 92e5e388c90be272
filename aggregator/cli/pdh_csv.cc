#include "aggregator/cli/pdh_csv.h"

#include <charconv>

#include "absl/strings/str_cat.h"
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

}  // namespace

void PdhCsv::Add(const v1::Series& series, const Value& value) {
  const std::string path =
      series.machine().empty()
          ? series.path()
          : absl::StrCat("\\\\", series.machine(), series.path());
  const auto [column, is_new] =
      column_of_path_.try_emplace(path, columns_.size());
  if (is_new) columns_.push_back(path);
  auto& row = rows_[value.time];
  if (value.ok()) row[column->second] = value.value;
}

std::string PdhCsv::Text() const {
  std::string text = Quoted(kHeader);
  for (const std::string& path : columns_) {
    absl::StrAppend(&text, ",", Quoted(path));
  }
  absl::StrAppend(&text, "\r\n");
  for (const auto& [time, values] : rows_) {
    absl::StrAppend(&text, Quoted(absl::FormatTime("%m/%d/%Y %H:%M:%E3S", time,
                                                   absl::UTCTimeZone())));
    for (size_t i = 0; i < columns_.size(); ++i) {
      const auto value = values.find(i);
      absl::StrAppend(
          &text, ",",
          Quoted(value != values.end() ? Shortest(value->second) : kNoValue));
    }
    absl::StrAppend(&text, "\r\n");
  }
  return text;
}

}  // namespace fleetperf::cli
