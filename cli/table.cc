#include "cli/table.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace fleetperf::cli {
namespace {

constexpr size_t kColumnGap = 2;
constexpr size_t kMinTrend = 8;

// The widths down to which columns are cut: first, and if that is not enough.
constexpr size_t kShortText = 12;
constexpr size_t kShortCounter = 20;
constexpr size_t kShortMachine = 12;
constexpr size_t kShorterCounter = 14;
constexpr size_t kShorterMachine = 8;
constexpr size_t kShortInstance = 16;
constexpr size_t kMinCounter = 8;
constexpr size_t kMinMachine = 6;
constexpr size_t kMinInstance = 8;

// Returns the number of runs of equal cells.
size_t RunsOf(const TableColumn& column) {
  size_t runs = 1;
  for (size_t row = 1; row < column.cells.size(); ++row) {
    runs += column.cells[row] != column.cells[row - 1];
  }
  return runs;
}

bool IsShared(const TableColumn& column) { return RunsOf(column) == 1; }

// Returns the width that the title and the cells need.
size_t WholeWidth(const TableColumn& column) {
  size_t width = DisplayWidth(column.title);
  for (size_t row = 0; row < column.cells.size(); ++row) {
    width = std::max(width, DisplayWidth(column.cells[row]));
  }
  return width;
}

bool IsNumber(const Field& field) {
  return std::holds_alternative<double>(field.value) ||
         std::holds_alternative<uint32_t>(field.value) ||
         std::holds_alternative<uint64_t>(field.value) ||
         std::holds_alternative<int64_t>(field.value);
}

TableColumn ColumnOf(const Record& record, size_t field) {
  TableColumn column{.field = field, .role = record[field].role};
  column.title = absl::AsciiStrToUpper(
      absl::StrReplaceAll(record[field].name, {{"_", " "}}));
  column.width = DisplayWidth(column.title);
  return column;
}

void AddCell(const Field& field, size_t row, TableColumn* column) {
  const std::string text = TableText(field);
  column->width = std::max(column->width, DisplayWidth(text));
  column->right = column->right || IsNumber(field);
  if (!text.empty()) column->cells.Add(row, text);
  if (!field.brief.has_value()) return;
  column->brief_title = field.brief->name;
  column->brief_cells.Add(row, field.brief->text);
}

class Table {
 public:
  Table(std::vector<TableColumn> columns, size_t rows)
      : columns_(std::move(columns)), rows_(rows) {}

  size_t width() const {
    size_t total = 0;
    for (const TableColumn& column : columns_)
      total += column.width + kColumnGap;
    return total - std::min(total, kColumnGap);
  }

  // Fits the table without dropping a column. Returns whether it fits.
  bool FitGently(size_t width) {
    Cut(ColumnRole::kText, kShortText, width);
    while (this->width() > width && ShareOne()) {
    }
    Cut(ColumnRole::kCounter, kShortCounter, width);
    Cut(ColumnRole::kMachine, kShortMachine, width);
    return this->width() <= width;
  }

  void Fit(size_t width) {
    if (FitGently(width)) return;
    Drop(ColumnRole::kText, width);
    Drop(ColumnRole::kExtra, width);
    Abbreviate(width);
    Divide(width);
    Cut(ColumnRole::kCounter, kShorterCounter, width);
    Cut(ColumnRole::kMachine, kShorterMachine, width);
    Cut(ColumnRole::kInstance, kShortInstance, width);
    Drop(ColumnRole::kSpare, width);
    Cut(ColumnRole::kMachine, kMinMachine, width);
    Cut(ColumnRole::kCounter, kMinCounter, width);
    Cut(ColumnRole::kInstance, kMinInstance, width);
  }

  void Add(TableColumn column) { columns_.push_back(std::move(column)); }

  void ForEachLine(size_t width, UseLine use) const {
    for (const std::string& line : SharedLines(width)) use(line);
    std::string line;
    SetLine(
        [](const TableColumn& column) -> absl::string_view {
          return column.title;
        },
        &line);
    use(line);
    for (size_t row = 0; row < rows_; ++row) {
      if (!sections_.empty() &&
          (row == 0 || sections_[row] != sections_[row - 1])) {
        use(CutEnd(absl::StrCat("\\\\", sections_[row]), width));
      }
      SetLine([row](const TableColumn& column) { return column.cells[row]; },
              &line);
      use(line);
    }
  }

 private:
  // Cuts columns of the role, the last one first.
  void Cut(ColumnRole role, size_t min, size_t width) {
    for (auto column = columns_.rbegin(); column != columns_.rend(); ++column) {
      const size_t now = this->width();
      if (now <= width) return;
      if (column->role != role || column->width <= min) continue;
      column->width =
          std::max(min, column->width - std::min(column->width, now - width));
    }
  }

  void Drop(ColumnRole role, size_t width) {
    for (size_t i = columns_.size(); i-- > 0 && this->width() > width;) {
      if (columns_[i].role != role) continue;
      columns_.erase(columns_.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  void Abbreviate(size_t width) {
    for (TableColumn& column : columns_) {
      if (column.brief_title.empty() || this->width() <= width) continue;
      column.title = column.brief_title;
      column.cells = column.brief_cells;
      column.width = WholeWidth(column);
    }
  }

  // Makes a section of each machine, with a line for its name, if the rows of
  // each machine follow each other.
  void Divide(size_t width) {
    if (this->width() <= width) return;
    for (auto column = columns_.begin(); column != columns_.end(); ++column) {
      if (column->role != ColumnRole::kMachine) continue;
      std::set<absl::string_view> machines;
      for (size_t row = 0; row < rows_; ++row) {
        machines.insert(column->cells[row]);
      }
      if (RunsOf(*column) > machines.size() || 2 * machines.size() > rows_) {
        return;
      }
      sections_ = std::move(column->cells);
      columns_.erase(column);
      return Regrow(width);
    }
  }

  // Gives columns that were cut the space that is left, counters first.
  void Regrow(size_t width) {
    for (const ColumnRole role :
         {ColumnRole::kCounter, ColumnRole::kInstance}) {
      for (TableColumn& column : columns_) {
        const size_t now = this->width();
        if (column.role != role || now >= width) continue;
        column.width = std::min(WholeWidth(column), column.width + width - now);
      }
    }
  }

  // Moves the widest machine or counter that all rows have above the table.
  // Returns false if there is none.
  bool ShareOne() {
    auto widest = columns_.end();
    for (auto column = columns_.begin(); column != columns_.end(); ++column) {
      const bool can_move = (column->role == ColumnRole::kMachine ||
                             column->role == ColumnRole::kCounter) &&
                            IsShared(*column);
      if (can_move &&
          (widest == columns_.end() || column->width > widest->width)) {
        widest = column;
      }
    }
    if (widest == columns_.end()) return false;
    const absl::string_view text = widest->cells[0];
    if (widest->role == ColumnRole::kMachine) {
      machine_ = absl::StrCat("\\\\", text);
    } else {
      counter_ = std::string(text);
    }
    columns_.erase(widest);
    return true;
  }

  // Returns the shared parts, as one path if it fits.
  std::vector<std::string> SharedLines(size_t width) const {
    std::vector<std::string> lines;
    const std::string path = absl::StrCat(machine_, counter_);
    if (!path.empty() && DisplayWidth(path) <= width) return {path};
    if (!machine_.empty()) lines.push_back(CutEnd(machine_, width));
    if (!counter_.empty()) lines.push_back(CutFront(counter_, width));
    return lines;
  }

  template <typename CellOf>
  void SetLine(CellOf cell_of, std::string* line) const {
    line->clear();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const TableColumn& column = columns_[i];
      const absl::string_view whole = cell_of(column);
      size_t width = DisplayWidth(whole);
      std::string cut;
      if (width > column.width) {
        cut = column.role == ColumnRole::kCounter
                  ? CutFront(whole, column.width)
                  : CutEnd(whole, column.width);
        width = column.width;
      }
      const size_t padding = column.width - width;
      if (i > 0) line->append(kColumnGap, ' ');
      if (column.right) line->append(padding, ' ');
      absl::StrAppend(line, cut.empty() ? whole : absl::string_view(cut));
      if (!column.right) line->append(padding, ' ');
    }
    absl::StripTrailingAsciiWhitespace(line);
  }

  std::vector<TableColumn> columns_;
  const size_t rows_;
  TableCells sections_;  // the machine of each row, if it is a line above
  std::string machine_;  // shared by all rows
  std::string counter_;
};

// Adds the trend if there is room. Returns whether there is.
bool AddTrend(const TrendColumn& trend, size_t rows, size_t width,
              Table* table) {
  size_t cells = trend.max_cells;
  if (width > 0) {
    const size_t least = kColumnGap + std::min(kMinTrend, cells);
    if (width <= least || !table->FitGently(width - least)) return false;
    cells = std::min(cells, width - table->width() - kColumnGap);
  }
  TableColumn column{.title = "TREND", .width = cells};
  for (size_t row = 0; row < rows; ++row) {
    const std::string drawing = trend.draw(row, cells);
    if (!drawing.empty()) column.cells.Add(row, drawing);
  }
  if (column.cells.empty()) return true;
  column.cells.Pad(rows);
  table->Add(std::move(column));
  return true;
}

}  // namespace

void TableRows::Add(const Record& record) {
  for (size_t i = 0; rows_ == 0 && i < record.size(); ++i) {
    if (record[i].is_in(kInTables)) columns_.push_back(ColumnOf(record, i));
  }
  for (TableColumn& column : columns_) {
    AddCell(record[column.field], rows_, &column);
  }
  ++rows_;
}

void ForEachLine(TableRows rows, size_t width, const TrendColumn* trend,
                 UseLine use) {
  if (rows.rows_ == 0) return;
  std::erase_if(rows.columns_,
                [](const TableColumn& column) { return column.cells.empty(); });
  for (TableColumn& column : rows.columns_) {
    column.cells.Pad(rows.rows_);
    if (!column.brief_title.empty()) column.brief_cells.Pad(rows.rows_);
  }
  Table table(std::move(rows.columns_), rows.rows_);
  if (trend != nullptr) {
    Table with_trend = table;
    if (AddTrend(*trend, rows.rows_, width, &with_trend)) {
      return with_trend.ForEachLine(width, use);
    }
  }
  if (width > 0) table.Fit(width);
  table.ForEachLine(width, use);
}

std::vector<std::string> FormatTable(const std::vector<Record>& records,
                                     size_t width, const TrendColumn* trend) {
  TableRows rows;
  for (const Record& record : records) rows.Add(record);
  std::vector<std::string> lines;
  ForEachLine(std::move(rows), width, trend,
              [&](absl::string_view line) { lines.emplace_back(line); });
  return lines;
}

std::vector<std::string> WrapWords(absl::string_view text, size_t width) {
  std::vector<std::string> lines = {""};
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    const std::string longer = lines.back().empty()
                                   ? std::string(word)
                                   : absl::StrCat(lines.back(), " ", word);
    if (width == 0 || lines.back().empty() || DisplayWidth(longer) <= width) {
      lines.back() = longer;
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

}  // namespace fleetperf::cli
