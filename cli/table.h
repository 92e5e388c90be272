// Records as a table for users.

#ifndef FLEETPERF_CLI_TABLE_H_
#define FLEETPERF_CLI_TABLE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "cli/output.h"

namespace fleetperf::cli {

// A column of drawings, which takes the space that the others leave.
struct TrendColumn {
  size_t max_cells;
  std::function<std::string(size_t row, size_t cells)> draw;
};

// The texts of a column, in one piece of memory: tables can have many rows.
class TableCells {
 public:
  bool empty() const { return ends_.empty(); }
  size_t size() const { return ends_.size(); }
  absl::string_view operator[](size_t row) const {
    const size_t begin = row == 0 ? 0 : ends_[row - 1];
    return absl::string_view(text_).substr(begin, ends_[row] - begin);
  }

  // Adds a cell in `row`, after empty ones in the rows that have none.
  void Add(size_t row, absl::string_view text) {
    Pad(row);
    text_.append(text.data(), text.size());
    ends_.push_back(text_.size());
  }
  // Adds empty cells until there are `rows`.
  void Pad(size_t rows) { ends_.resize(rows, text_.size()); }

 private:
  std::string text_;
  std::vector<size_t> ends_;  // of the cells, in text_
};

// A column of a table.
struct TableColumn {
  std::string title;
  size_t field = 0;  // of the records
  ColumnRole role = ColumnRole::kKey;
  bool right = false;
  size_t width = 0;
  TableCells cells;  // up to the last one with text
  // Replace the title and the cells in a table that is too wide, unless empty.
  std::string brief_title;
  TableCells brief_cells;
};

using UseLine = absl::FunctionRef<void(absl::string_view line)>;

// The texts of a table, without the records that they are of.
// Thread-compatible.
class TableRows {
 public:
  // Adds a row. All records must have equal fields.
  void Add(const Record& record);

 private:
  friend void ForEachLine(TableRows, size_t, const TrendColumn*, UseLine);

  std::vector<TableColumn> columns_;
  size_t rows_ = 0;
};

// Calls `use` with each line of a table: an upper-case header, then a row per
// record, with numbers aligned right. Columns without text are omitted.
//
// A table wider than `width`, unless that is 0, changes in this order until it
// fits: explanations are cut; a machine or counter common to all rows moves
// to a line above the table; counters and machines are cut; explanations, then
// extras are dropped; marks are abbreviated; a machine that several successive
// rows have in common moves to a line above these rows; counters, machines and
// instances are cut further; spare columns are dropped; names are cut at last.
// Values, units and marks are never cut. Only a table that is still
// wider has longer lines. The trend is left out unless the others fit without
// dropping columns.
void ForEachLine(TableRows rows, size_t width, const TrendColumn* trend,
                 UseLine use);

// Returns these lines of a table of records.
std::vector<std::string> FormatTable(const std::vector<Record>& records,
                                     size_t width,
                                     const TrendColumn* trend = nullptr);

// Returns the words of a text in lines of at most `width` columns, or in one
// line if that is 0. Longer words have lines of their own.
std::vector<std::string> WrapWords(absl::string_view text, size_t width);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_TABLE_H_
