// Records as a table for users.

#ifndef FLEETPERF_CLI_TABLE_H_
#define FLEETPERF_CLI_TABLE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cli/output.h"

namespace fleetperf::cli {

// A column of drawings, which takes the space that the others leave.
struct TrendColumn {
  size_t max_cells;
  std::function<std::string(size_t row, size_t cells)> draw;
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
std::vector<std::string> FormatTable(const std::vector<Record>& records,
                                     size_t width,
                                     const TrendColumn* trend = nullptr);

// Returns the words of a text in lines of at most `width` columns, or in one
// line if that is 0. Longer words have lines of their own.
std::vector<std::string> WrapWords(absl::string_view text, size_t width);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_TABLE_H_
