#include "cli/pdh_csv_log.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cli/values.h"
#include "cli/watched_paths.h"

namespace fleetperf::cli {

void PdhCsvLog::AddSeries(const v1::Series& series) {
  if (has_header_ && !columns_.contains(series.id())) {
    ++without_column_;
    return;
  }
  csv_.AddSeries(series);
  Column& column = columns_[series.id()];
  column.series = series;
  column.has_ended = false;
}

std::vector<std::string> PdhCsvLog::Add(const v1::SubscribeResponse& message,
                                        absl::Time now) {
  for (const v1::Series& series : message.series()) AddSeries(series);
  for (const v1::Points& points : message.points()) {
    const auto found = columns_.find(points.series());
    if (found == columns_.end()) continue;
    Column& column = found->second;
    ForEachValue(points, [&](const Value& value) {
      const int64_t row = csv_.Add(column.series, value);
      column.first_row = std::min(column.first_row, row);
      column.newest_row = std::max(column.newest_row, row);
      column.times.Add(value.time, now);
    });
  }
  for (const uint32_t id : message.ended()) {
    const auto found = columns_.find(id);
    if (found != columns_.end()) found->second.has_ended = true;
  }
  has_stored_ |= message.history_sent();
  std::vector<std::string> lines;
  if (!has_header_) {
    if (!has_stored_ || !FindStart(now)) return {};
    lines.push_back(Header());
  }
  int64_t complete = INT64_MAX;
  for (const auto& [id, column] : columns_) {
    if (IsAwaited(column, now))
      complete = std::min(complete, column.newest_row);
  }
  if (complete < INT64_MAX) MoveRows(complete, &lines);
  return lines;
}

std::vector<std::string> PdhCsvLog::Finish() {
  std::vector<std::string> lines;
  if (is_full() || csv_.is_empty()) return lines;
  if (!has_header_) lines.push_back(Header());
  MoveRows(INT64_MAX, &lines);
  return lines;
}

std::string PdhCsvLog::Header() {
  has_header_ = true;
  const auto key = [this](const v1::Series& series) {
    return std::make_tuple(PlaceOf(series, options_.paths), series.machine(),
                           series.path());
  };
  csv_.SortColumns([&](const v1::Series& a, const v1::Series& b) {
    return key(a) < key(b);
  });
  return csv_.Header();
}

bool PdhCsvLog::FindStart(absl::Time now) {
  int64_t start = INT64_MIN;
  for (const auto& [id, column] : columns_) {
    if (IsAwaited(column, now)) start = std::max(start, column.first_row);
  }
  if (start == INT64_MIN) return false;
  if (!options_.with_stored) csv_.TakeRows(start - 1);
  return true;
}

void PdhCsvLog::MoveRows(int64_t last, std::vector<std::string>* lines) {
  for (std::string& line : csv_.TakeRows(last)) {
    if (is_full()) return;
    ++rows_;
    lines->push_back(std::move(line));
  }
}

}  // namespace fleetperf::cli
