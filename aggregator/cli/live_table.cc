#include "aggregator/cli/live_table.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/units.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

constexpr size_t kTrendLength = 24;
// A row is marked stale after this many intervals without a value.
constexpr double kStaleIntervals = 3.5;
// Lines above and below the rows.
constexpr size_t kOtherLines = 4;

}  // namespace

void LiveTable::Add(const v1::SubscribeResponse& response, absl::Time now) {
  for (const v1::Series& series : response.series()) {
    rows_[series.id()] = Row{.series = series};
  }
  for (const v1::Points& points : response.points()) AddPoints(points, now);
  for (const uint32_t id : response.ended()) rows_.erase(id);
  lagged_ += response.lagged();
  if (response.has_live_machines()) live_machines_ = response.live_machines();
}

void LiveTable::AddPoints(const v1::Points& points, absl::Time now) {
  Row& row = rows_[points.series()];
  ForEachValue(points, [&](const Value& value) {
    if (!row.is_empty()) row.interval = value.time - row.newest.time;
    row.newest = value;
    row.arrived = now;
    row.trend.push_back(value.ok() ? std::optional(value.value) : std::nullopt);
    if (row.trend.size() > kTrendLength) row.trend.erase(row.trend.begin());
  });
}

void LiveTable::SetOrder(Order order) {
  order_ = order;
  first_ = 0;
}

void LiveTable::TurnPage(int pages) {
  const size_t rows = static_cast<size_t>(std::abs(pages)) * page_size_;
  first_ = pages > 0 ? first_ + rows : first_ - std::min(first_, rows);
}

std::vector<const LiveTable::Row*> LiveTable::SortedRows() const {
  std::vector<const Row*> rows;
  for (const auto& [id, row] : rows_) {
    if (!row.is_empty()) rows.push_back(&row);
  }
  // Rows without a value come last.
  const auto rank = [&](const Row* row) {
    if (order_ == Order::kPath) return 0.0;
    if (!row->newest.ok()) return std::numeric_limits<double>::infinity();
    const double value = row->newest.value;
    return order_ == Order::kLargest ? -value : value;
  };
  std::sort(rows.begin(), rows.end(), [&](const Row* a, const Row* b) {
    return std::make_tuple(rank(a), a->series.machine(), a->series.path()) <
           std::make_tuple(rank(b), b->series.machine(), b->series.path());
  });
  return rows;
}

std::string LiveTable::Title(const Look& look, size_t series,
                             absl::Time now) const {
  std::string title =
      absl::StrCat(absl::FormatTime("%H:%M:%S", now, absl::UTCTimeZone()),
                   " UTC  ", series, " series",
                   order_ == Order::kLargest    ? ", largest first"
                   : order_ == Order::kSmallest ? ", smallest first"
                                                : "");
  if (lagged_ > 0) absl::StrAppend(&title, "  ", lagged_, " values left out");
  if (live_machines_.widened() > 0) {
    absl::StrAppend(
        &title, "  ", live_machines_.widened(), " machines each ",
        absl::FormatDuration(FromProto(live_machines_.widened_interval())),
        ": too many are watched");
  }
  if (look.has_keys) {
    absl::StrAppend(&title, "  (s sorts, space and b turn pages, q quits)");
  }
  return title;
}

std::vector<std::string> LiveTable::Lines(const Look& look, absl::Time now) {
  std::vector<const Row*> rows = SortedRows();
  const size_t total = rows.size();
  page_size_ = look.rows > kOtherLines ? look.rows - kOtherLines : 0;
  if (page_size_ > 0) {
    // The last page is always full.
    first_ = std::min(first_, total - std::min(total, page_size_));
    rows.erase(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(first_));
    rows.resize(std::min(rows.size(), page_size_));
  }
  std::vector<Record> records;
  for (const Row* row : rows) {
    const bool is_ok = row->newest.ok();
    const NumberText number = NumberOf(row->series, row->newest.value);
    Field value{.name = "value"};
    if (is_ok) value.value = row->newest.value;
    value.text = is_ok ? number.number : ValueText(row->series, row->newest);
    Field trend{.name = look.trend.has_value() ? "trend" : "note"};
    const absl::Duration silent = now - row->arrived;
    if (silent > row->interval * kStaleIntervals + absl::Seconds(1)) {
      trend.value = absl::StrCat(
          "no value for ",
          absl::FormatDuration(absl::Trunc(silent, absl::Seconds(1))));
    } else if (look.trend.has_value()) {
      trend.value = Sparkline(row->trend, kTrendLength, *look.trend);
    }
    records.push_back({{.name = "machine", .value = row->series.machine()},
                       {.name = "path", .value = row->series.path()},
                       std::move(value),
                       {.name = "unit", .value = is_ok ? number.unit : ""},
                       std::move(trend)});
  }
  const std::string title = Title(look, total, now);
  std::vector<std::string> lines = {
      look.columns > 0 ? CutEnd(title, look.columns) : title};
  for (std::string& line : FormatTable(records, look.columns)) {
    lines.push_back(std::move(line));
  }
  if (rows.size() < total) {
    lines.push_back(
        absl::StrCat(first_ + 1, " to ", first_ + rows.size(), " of ", total));
  }
  return lines;
}

}  // namespace fleetperf::cli
