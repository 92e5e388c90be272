// Records as a table for users.

#ifndef FLEETPERF_CLI_TABLE_H_
#define FLEETPERF_CLI_TABLE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/output.h"

namespace fleetperf::cli {

// A column of drawings, which takes the space that the others leave.
struct TrendColumn {
  size_t max_cells;
  std::function<std::string(size_t row, size_t cells)> draw;
};

// A column of a table.
struct TableColumn {
  std::string title;
  size_t field = 0;  // of the records
  ColumnRole role = ColumnRole::kKey;
  bool right = false;
  size_t width = 0;
  std::vector<std::string> cells;  // up to the last one with text
  // Replace the title and the cells in a table that is too wide, unless empty.
  std::string brief_title;
  std::vector<std::string> brief_cells;
};

// The texts of a table, without the records that they are of.
// Thread-compatible.
class TableRows {
 public:
  // Adds a row. All records must have equal fields.
  void Add(const Record& record);

 private:
  friend std::vector<std::string> FormatRows(TableRows, size_t,
                                             const TrendColumn*);

  std::vector<TableColumn> columns_;
  size_t rows_ = 0;
};

// Returns the lines of a table: an upper-case header, then a row per record,
// with numbers aligned right. Columns without text are omitted.
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
std::vector<std::string> FormatRows(TableRows rows, size_t width,
                                    const TrendColumn* trend = nullptr);
std::vector<std::string> FormatTable(const std::vector<Record>& records,
                                     size_t width,
                                     const TrendColumn* trend = nullptr);

// Returns the words of a text in lines of at most `width` columns, or in one
// line if that is 0. Longer words have lines of their own.
std::vector<std::string> WrapWords(absl::string_view text, size_t width);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_TABLE_H_
