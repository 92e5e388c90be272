// What an experiment found.

#ifndef FLEETPERF_DRIVER_PMC_EXPERIMENTS_REPORT_H_
#define FLEETPERF_DRIVER_PMC_EXPERIMENTS_REPORT_H_

#include <optional>
#include <string>
#include <vector>

namespace fleetperf::pmc {

struct Cell {
  const char* column;
  std::optional<double> value;
  int digits = -1;  // behind the point; -1: FormatCount
};

struct Row {
  std::string label;
  std::vector<Cell> cells;  // the same columns in all rows
};

struct Report {
  std::vector<Row> rows;
  std::vector<std::string> notes;
  std::string plot;  // lines

  // A table without columns that have no value, the plot, and the notes.
  std::string ToText() const;
  // An object per row, and one per note.
  std::string ToJson(const std::string& experiment) const;
};

// A line of "#" for each row: the value of a column against its maximum.
std::string PlotColumn(const std::vector<Row>& rows, const char* column);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_EXPERIMENTS_REPORT_H_
