#include "aggregator/cli/live_table.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "aggregator/cli/table.h"
#include "aggregator/cli/times.h"
#include "base/units.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

constexpr size_t kTrendLength = 24;
// A row is late this many intervals, and a second, after its sample.
constexpr double kLateIntervals = 3.5;
// The interval of a row with one value: the usual time between batches.
constexpr absl::Duration kUnknownInterval = absl::Seconds(10);
// An outage must not count as an interval.
constexpr size_t kIntervals = 3;
// Lines above and below the rows: the title, the header, the number of hidden
// rows, and the cursor's.
constexpr size_t kOtherLines = 4;

}  // namespace

// The median of the last intervals.
bool LiveTable::Row::IsLate(absl::Time now) const {
  absl::Duration interval = kUnknownInterval;
  if (!intervals.empty()) {
    std::vector<absl::Duration> sorted = intervals;
    std::sort(sorted.begin(), sorted.end());
    interval = sorted[(sorted.size() - 1) / 2];
  }
  return now - newest.time > interval * kLateIntervals + absl::Seconds(1);
}

void LiveTable::Add(const v1::SubscribeResponse& response) {
  for (const v1::Series& series : response.series()) {
    rows_[series.id()] = Row{.series = series};
  }
  for (const v1::Points& points : response.points()) AddPoints(points);
  for (const uint32_t id : response.ended()) rows_.erase(id);
  lagged_ += response.lagged();
  if (response.has_live_machines()) live_machines_ = response.live_machines();
}

void LiveTable::AddPoints(const v1::Points& points) {
  Row& row = rows_[points.series()];
  ForEachValue(points, [&](const Value& value) {
    if (!row.is_empty()) row.intervals.push_back(value.time - row.newest.time);
    if (row.intervals.size() > kIntervals) {
      row.intervals.erase(row.intervals.begin());
    }
    row.newest = value;
    row.trend.push_back(value.ok() ? std::optional(value.value) : std::nullopt);
    if (row.trend.size() > kTrendLength) row.trend.erase(row.trend.begin());
  });
}

void LiveTable::SetOrder(Order order) {
  order_ = order;
  first_ = 0;
}

size_t LiveTable::CountLate(absl::Time now) const {
  return static_cast<size_t>(
      std::count_if(rows_.begin(), rows_.end(), [&](const auto& entry) {
        return !entry.second.is_empty() && entry.second.IsLate(now);
      }));
}

void LiveTable::TurnPage(int pages) {
  const size_t rows = static_cast<size_t>(std::abs(pages)) * page_size_;
  first_ = pages > 0 ? first_ + rows : first_ - std::min(first_, rows);
}

std::vector<const LiveTable::Row*> LiveTable::SortedRows(absl::Time now) const {
  std::vector<const Row*> rows;
  for (const auto& [id, row] : rows_) {
    if (!row.is_empty()) rows.push_back(&row);
  }
  // Rows without a current value come last.
  const auto rank = [&](const Row* row) {
    if (order_ == Order::kPath) return 0.0;
    if (!row->newest.ok() || row->IsLate(now)) {
      return std::numeric_limits<double>::infinity();
    }
    const double value = RankOf(row->series, row->newest);
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
  std::string title = absl::StrCat(
      absl::FormatTime("%H:%M:%S %Z", now, UserZone()), "  ", series, " series",
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

Record LiveTable::ToRecord(const Row& row, absl::Time now) {
  const bool is_ok = row.newest.ok();
  const NumberText number = NumberOf(row.series, row.newest.value);
  Record record = SeriesFields(row.series);
  Field value{.name = "value"};
  if (is_ok) value.value = row.newest.value;
  value.text = is_ok ? number.number : ValueText(row.series, row.newest);
  record.push_back(std::move(value));
  record.push_back({.name = "unit", .value = is_ok ? number.unit : ""});
  record.push_back(PresenceField(row.newest));
  Field late{.name = "late"};
  if (row.IsLate(now)) {
    late.value = AgeText(row.newest.time, now);
    late.brief = BriefAge(row.newest.time, now);
  }
  record.push_back(std::move(late));
  return record;
}

std::vector<std::string> LiveTable::PageLines(
    const std::vector<const Row*>& rows, const Look& look, absl::Time now,
    size_t page_size) {
  page_size_ = page_size;
  size_t shown = rows.size();
  if (page_size > 0) {
    // The last page is always full.
    first_ = std::min(first_, rows.size() - std::min(rows.size(), page_size));
    shown = std::min(rows.size() - first_, page_size);
  }
  const auto begin = rows.begin() + static_cast<ptrdiff_t>(first_);
  std::vector<Record> records;
  for (size_t i = 0; i < shown; ++i)
    records.push_back(ToRecord(*begin[i], now));
  const TrendColumn trend{
      .max_cells = kTrendLength, .draw = [&](size_t row, size_t cells) {
        return Sparkline(begin[row]->trend, cells, *look.trend);
      }};
  const std::string title = Title(look, rows.size(), now);
  std::vector<std::string> lines = {
      look.columns > 0 ? CutEnd(title, look.columns) : title};
  for (std::string& line : FormatTable(
           records, look.columns, look.trend.has_value() ? &trend : nullptr)) {
    lines.push_back(std::move(line));
  }
  if (shown < rows.size()) {
    lines.push_back(
        absl::StrCat(first_ + 1, " to ", first_ + shown, " of ", rows.size()));
  }
  return lines;
}

std::vector<std::string> LiveTable::Lines(const Look& look, absl::Time now) {
  const std::vector<const Row*> rows = SortedRows(now);
  if (look.rows <= kOtherLines) {
    first_ = 0;
    return PageLines(rows, look, now, 0);
  }
  const size_t page_size = look.rows - kOtherLines;
  std::vector<std::string> lines = PageLines(rows, look, now, page_size);
  // Names that all rows share take lines above the table.
  const size_t excess = lines.size() - std::min(lines.size(), look.rows - 1);
  if (excess == 0 || excess >= page_size) return lines;
  return PageLines(rows, look, now, page_size - excess);
}

}  // namespace fleetperf::cli
