// plot: draws a chart in the terminal or to a file.

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
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
// The number of lines per unit, unless --top or --bottom sets it. More cannot
// be told apart.
constexpr size_t kMaxLines = 12;
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

// Returns the area under the line: an instance that was there for a moment is
// small, however high its values were.
double SizeOf(const ChartLine& line) {
  double sum = 0;
  for (const ChartPoint& point : line.points) sum += point.value.value_or(0);
  return sum;
}

// Collects the lines of a chart. Of each unit, keeps the largest ones.
class ChartReader {
 public:
  explicit ChartReader(size_t max_lines) : max_lines_(max_lines) {}

  void Add(const v1::Series& series, const Value& value) {
    Line& line = LineOf(series);
    ChartPoint& point =
        line.line.points.emplace_back(ChartPoint{.time = value.time});
    if (value.ok()) point.value = value.value;
    first_ = std::min(first_, value.time);
    last_ = std::max(last_, value.time);
  }

  // Returns the lines, largest first in each unit.
  Chart Finish() {
    Chart chart;
    std::vector<v1::Series> series;
    for (auto& [unit, lines] : units_) {
      KeepLargest(&lines);
      for (Line& line : lines) {
        series.push_back(std::move(line.series));
        chart.lines.push_back(std::move(line.line));
      }
    }
    SetLabels(series, &chart);
    chart.subtitle = FormatRange(first_, last_);
    return chart;
  }

  size_t left_out() const { return left_out_; }

 private:
  struct Line {
    v1::Series series;
    ChartLine line;
  };

  // The values of a series arrive together.
  Line& LineOf(const v1::Series& series) {
    const auto is_of_unit = [&](const auto& unit) {
      return unit.first == series.unit();
    };
    auto unit = std::find_if(units_.begin(), units_.end(), is_of_unit);
    if (unit == units_.end()) {
      unit = units_.insert(units_.end(), {series.unit(), {}});
    }
    std::vector<Line>& lines = unit->second;
    if (!lines.empty() && lines.back().series.id() == series.id()) {
      return lines.back();
    }
    if (lines.size() / 2 >= max_lines_) KeepLargest(&lines);
    return lines.emplace_back(
        Line{series, {.counter = series.counter(), .unit = series.unit()}});
  }

  void KeepLargest(std::vector<Line>* lines) {
    std::stable_sort(lines->begin(), lines->end(),
                     [](const Line& a, const Line& b) {
                       return SizeOf(a.line) > SizeOf(b.line);
                     });
    if (lines->size() <= max_lines_) return;
    left_out_ += lines->size() - max_lines_;
    lines->resize(max_lines_);
  }

  const size_t max_lines_;
  // In the order of the answer.
  std::vector<std::pair<std::string, std::vector<Line>>> units_;
  size_t left_out_ = 0;
  absl::Time first_ = absl::InfiniteFuture();
  absl::Time last_ = absl::InfinitePast();
};

absl::StatusOr<Chart> ReadChart(const Connection& connection,
                                const QueryFlags& flags,
                                const v1::QueryRangeRequest& request) {
  const bool is_chosen = flags.top > 0 || flags.bottom > 0;
  ChartReader reader(is_chosen ? std::numeric_limits<size_t>::max()
                               : kMaxLines);
  RETURN_IF_ERROR(ForEachResult(connection, flags, request, Printing::kAtEnd,
                                [&](const v1::Series& of, const Value& value) {
                                  reader.Add(of, value);
                                }));
  Chart chart = reader.Finish();
  chart.title = absl::StrJoin(flags.paths, ", ");
  absl::StrAppend(&chart.subtitle, ", one value per ",
                  absl::FormatDuration(FromProto(request.step())));
  // First, because narrow terminals cut the end.
  if (reader.left_out() > 0) {
    const size_t shown = chart.lines.size();
    chart.subtitle =
        absl::StrCat("the ", shown, " largest of ", shown + reader.left_out(),
                     " lines, ", chart.subtitle);
  }
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
                           .colors = CanColor()};
  for (const std::string& line :
       DrawText(chart, size.columns, size.rows, style)) {
    Put(line);  // with colors
    Put("\n");
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::cli
