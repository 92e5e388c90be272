// plot: draws a chart in the terminal or to a file.

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/numbers.h"
#include "aggregator/cli/plot/chart.h"
#include "aggregator/cli/plot/plot_file.h"
#include "aggregator/cli/plot/text_plot.h"
#include "aggregator/cli/plot/ticks.h"
#include "aggregator/cli/query.h"
#include "aggregator/cli/terminal.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

// The number of values per line that a file can resolve.
constexpr size_t kPointsInFile = 600;
// The size if standard output is not a terminal.
constexpr Size kSizeOfText = {.rows = 24, .columns = 80};
// Rows reserved for the prompt.
constexpr size_t kOtherRows = 1;

Size SizeOfChart() {
  const Size size = TerminalSize();
  if (size.columns == 0 || size.rows <= kOtherRows) return kSizeOfText;
  return {.rows = size.rows - kOtherRows, .columns = size.columns};
}

absl::Duration LengthOf(const v1::QueryRangeRequest& request) {
  if (request.has_since()) return FromProto(request.since());
  const absl::Time end = request.has_end_time() ? FromProto(request.end_time())
                                                : Clock::Real().Now();
  return end - FromProto(request.start_time());
}

// Returns the step that yields at most about `points` values.
absl::Duration AutomaticStep(const v1::QueryRangeRequest& request,
                             size_t points) {
  return RoundDuration(LengthOf(request) / static_cast<double>(points));
}

// The lines of a panel have one unit. Properties common to all of them are
// omitted from their labels.
void SetLabels(const std::vector<v1::Series>& series, Chart* chart) {
  std::map<std::string, std::vector<size_t>> lines_by_unit;
  for (size_t i = 0; i < series.size(); ++i) {
    lines_by_unit[series[i].unit()].push_back(i);
  }
  for (const auto& [unit, lines] : lines_by_unit) {
    std::vector<v1::Series> of_unit;
    for (const size_t line : lines) of_unit.push_back(series[line]);
    const std::vector<std::string> labels = LabelsOf(of_unit);
    for (size_t i = 0; i < lines.size(); ++i) {
      chart->lines[lines[i]].label = labels[i];
    }
  }
}

absl::StatusOr<Chart> ReadChart(const Connection& connection,
                                const QueryFlags& flags,
                                const v1::QueryRangeRequest& request) {
  Chart chart;
  std::vector<v1::Series> series;
  std::map<uint32_t, size_t> line_of_series;
  absl::Time first = absl::InfiniteFuture();
  absl::Time last = absl::InfinitePast();
  RETURN_IF_ERROR(ForEachResult(
      connection, flags, request, Printing::kAtEnd,
      [&](const v1::Series& of, const Value& value) {
        const auto [line, is_new] =
            line_of_series.try_emplace(of.id(), series.size());
        if (is_new) {
          series.push_back(of);
          chart.lines.push_back({.counter = of.counter(), .unit = of.unit()});
        }
        ChartPoint& point = chart.lines[line->second].points.emplace_back(
            ChartPoint{value.time});
        if (value.ok()) point.value = value.value;
        first = std::min(first, value.time);
        last = std::max(last, value.time);
      }));
  SetLabels(series, &chart);
  chart.title = absl::StrJoin(flags.paths, ", ");
  chart.subtitle =
      absl::StrCat(FormatRange(first, last), ", one value per ",
                   absl::FormatDuration(FromProto(request.step())));
  return chart;
}

}  // namespace

absl::Status Plot(const Connection& connection, const QueryFlags& flags,
                  const std::string& output) {
  if (!output.empty()) RETURN_IF_ERROR(CheckPlotFile(output));
  ASSIGN_OR_RETURN(v1::QueryRangeRequest request, MakeRequest(flags));
  const Size size = SizeOfChart();
  if (!request.has_step()) {
    const size_t points = output.empty() ? size.columns : kPointsInFile;
    *request.mutable_step() = ToProto(AutomaticStep(request, points));
  }
  ASSIGN_OR_RETURN(const Chart chart, ReadChart(connection, flags, request));
  if (!output.empty()) return WritePlotFile(chart, output);
  const TextStyle style = {.characters = ShownCharacters(),
                           .colors = IsTerminal()};
  for (const std::string& line :
       DrawText(chart, size.columns, size.rows, style)) {
    std::puts(line.c_str());
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::cli
