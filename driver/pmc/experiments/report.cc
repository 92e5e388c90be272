#include "driver/pmc/experiments/report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "driver/pmc/table.h"
#include "nlohmann/json.hpp"

namespace fleetperf::pmc {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPlotWidth = 50;

std::string Text(const Cell& cell) {
  return cell.digits < 0 ? FormatCount(cell.value)
                         : FormatNumber(cell.value, cell.digits);
}

std::string TableOf(const std::vector<Row>& rows) {
  if (rows.empty()) return "";
  std::vector<std::vector<std::string>> cells(rows.size() + 1);
  cells[0] = {""};
  for (size_t i = 0; i < rows.size(); ++i) cells[i + 1] = {rows[i].label};
  for (size_t column = 0; column < rows[0].cells.size(); ++column) {
    if (std::none_of(rows.begin(), rows.end(), [&](const Row& row) {
          return row.cells[column].value.has_value();
        })) {
      continue;
    }
    cells[0].push_back(rows[0].cells[column].column);
    for (size_t i = 0; i < rows.size(); ++i) {
      cells[i + 1].push_back(Text(rows[i].cells[column]));
    }
  }
  return AlignedTable(cells);
}

std::optional<double> ValueIn(const Row& row, absl::string_view column) {
  for (const Cell& cell : row.cells) {
    if (cell.column == column) return cell.value;
  }
  return std::nullopt;
}

}  // namespace

std::string Report::ToText() const {
  std::string text = TableOf(rows);
  if (!plot.empty()) absl::StrAppend(&text, "\n", plot);
  for (const std::string& note : notes) absl::StrAppend(&text, note, "\n");
  return text;
}

std::string Report::ToJson(const std::string& experiment) const {
  std::string lines;
  for (const Row& row : rows) {
    Json object = {{"experiment", experiment}, {"row", row.label}};
    for (const Cell& cell : row.cells) {
      if (cell.value) object[cell.column] = *cell.value;
    }
    absl::StrAppend(&lines, object.dump(), "\n");
  }
  for (const std::string& note : notes) {
    const Json object = {{"experiment", experiment}, {"note", note}};
    absl::StrAppend(&lines, object.dump(), "\n");
  }
  return lines;
}

std::string PlotColumn(const std::vector<Row>& rows, const char* column) {
  double maximum = 0;
  size_t width = 0;
  for (const Row& row : rows) {
    maximum = std::max(maximum, ValueIn(row, column).value_or(0));
    width = std::max(width, row.label.size());
  }
  if (maximum == 0) return "";
  std::string text = absl::StrCat(column, "\n");
  for (const Row& row : rows) {
    const double share = ValueIn(row, column).value_or(0) / maximum;
    absl::StrAppend(
        &text, row.label, std::string(width - row.label.size(), ' '), " |",
        std::string(static_cast<size_t>(std::lround(share * kPlotWidth)), '#'),
        "\n");
  }
  return text + "\n";
}

}  // namespace fleetperf::pmc
