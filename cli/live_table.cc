#include "cli/live_table.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "cli/pivot.h"
#include "cli/table.h"
#include "cli/times.h"
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
  // By counter, because others have other units. Late rows come after current
  // ones, and rows without a value last.
  const auto rank = [&](const Row* row) {
    const v1::Series& series = row->series;
    const bool is_ok = row->newest.ok();
    const double value = is_ok ? RankOf(series, row->newest) : 0;
    return std::make_tuple(
        std::tie(series.counterset(), series.counter(), series.unit()), !is_ok,
        row->IsLate(now), order_ == Order::kLargest ? -value : value);
  };
  const auto path = [](const Row* row) {
    return std::tie(row->series.machine(), row->series.path());
  };
  std::sort(rows.begin(), rows.end(), [&](const Row* a, const Row* b) {
    if (order_ == Order::kPath) return path(a) < path(b);
    const auto rank_of_a = rank(a);
    const auto rank_of_b = rank(b);
    return rank_of_a != rank_of_b ? rank_of_a < rank_of_b : path(a) < path(b);
  });
  return rows;
}

std::string LiveTable::OrderText(absl::Time now) const {
  if (order_ == Order::kPath || rows_.empty()) return "";
  const bool has_current =
      std::any_of(rows_.begin(), rows_.end(), [&](const auto& entry) {
        return !entry.second.is_empty() && !entry.second.IsLate(now);
      });
  return absl::StrCat(
      has_current ? "" : ", none current",
      order_ == Order::kLargest ? ", largest first" : ", smallest first");
}

std::string LiveTable::Title(const Look& look, size_t series,
                             absl::Time now) const {
  std::string title =
      absl::StrCat(absl::FormatTime("%H:%M:%S %Z", now, UserZone()), "  ",
                   series, " series", OrderText(now));
  if (lagged_ > 0) absl::StrAppend(&title, "  ", lagged_, " values left out");
  if (live_machines_.widened() > 0) {
    absl::StrAppend(&title, "  ", live_machines_.widened(), " machines each ",
                    DurationText(FromProto(live_machines_.widened_interval())),
                    ": too many are watched");
  }
  if (look.has_keys) {
    absl::StrAppend(&title, "  (s sorts, space and b turn pages, q quits)");
  }
  return title;
}

Record LiveTable::ToRecord(const Row& row, absl::Time now, bool has_share) {
  const bool is_ok = row.newest.ok();
  const NumberText number = NumberOf(row.series, row.newest.value);
  Record record = SeriesFields(row.series);
  record.push_back(
      has_share && is_ok
          ? ShareField(row.series, row.newest, RankOf(row.series, row.newest))
          : Field{.name = "share"});
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
  // In an order by value, unless the ranks are the values.
  const bool has_shares =
      order_ != Order::kPath &&
      std::any_of(rows.begin(), rows.end(), [](const Row* row) {
        return RankOf(row->series, row->newest) != row->newest.value;
      });
  std::vector<Record> records;
  std::map<std::string, TrendScale> scales;  // one for the rows of a counter
  for (size_t i = 0; i < shown; ++i) {
    records.push_back(ToRecord(*begin[i], now, has_shares));
    TrendScale& scale = scales[ScaleKeyOf(begin[i]->series)];
    for (const auto& value : begin[i]->trend) scale.Add(value);
  }
  const TrendColumn trend{
      .max_cells = kTrendLength, .draw = [&](size_t row, size_t cells) {
        const std::string bars =
            Sparkline(begin[row]->trend, cells, *look.trend,
                      scales[ScaleKeyOf(begin[row]->series)]);
        // The newest values are below each other.
        return std::string(cells - DisplayWidth(bars), ' ') + bars;
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

std::vector<std::string> LiveTable::PivotLines(
    const std::vector<const Row*>& rows, const Look& look, absl::Time now) {
  Pivot pivot(/*with_time=*/false);
  for (const Row* row : rows) {
    pivot.Add(ToRecord(*row, now, /*has_share=*/false), row->series,
              row->newest);
  }
  const std::string title = Title(look, rows.size(), now);
  const auto lines_of = [&](size_t first, size_t count) {
    std::vector<std::string> lines = {
        look.columns > 0 ? CutEnd(title, look.columns) : title};
    for (const auto& table : pivot.Tables(look.columns, first, count)) {
      if (lines.size() > 1) lines.emplace_back();
      lines.insert(lines.end(), table.begin(), table.end());
    }
    return lines;
  };
  const size_t all = pivot.rows();
  page_size_ = 0;
  std::vector<std::string> lines = lines_of(0, all);
  // The last lines are the number of hidden rows and the cursor's.
  if (look.rows <= kOtherLines || lines.size() < look.rows) return lines;
  const size_t tables = pivot.Tables(look.columns, 0, all).size();
  const size_t others = lines.size() - all * tables;
  const size_t room = look.rows - std::min(look.rows, others + 2);
  page_size_ = std::max<size_t>(1, room / tables);
  first_ = std::min(first_, all - std::min(all, page_size_));
  lines = lines_of(first_, page_size_);
  lines.resize(std::min(lines.size(), look.rows - 2));
  lines.push_back(absl::StrCat(
      first_ + 1, " to ", std::min(all, first_ + page_size_), " of ", all));
  return lines;
}

std::vector<std::string> LiveTable::Lines(const Look& look, absl::Time now) {
  const std::vector<const Row*> rows = SortedRows(now);
  if (look.pivot) return PivotLines(rows, look, now);
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
