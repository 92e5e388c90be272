// plot: draws a chart in the terminal or to a file.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/plot/chart.h"
#include "cli/plot/plot_file.h"
#include "cli/plot/text_plot.h"
#include "cli/plot/ticks.h"
#include "cli/query.h"
#include "cli/query_request.h"
#include "cli/terminal.h"
#include "cli/timeline.h"
#include "cli/times.h"
#include "perflib/path.h"
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
absl::Duration AutomaticStep(absl::Duration length, size_t points) {
  return RoundDuration(length / static_cast<double>(points));
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

// Whether the argument, a path or an expression, selects the series or a group
// with it.
bool Selects(const std::string& argument, const v1::Series& series) {
  if (perflib::Pattern(argument).Matches(series.path())) return true;
  const auto path = perflib::ParsePath(argument, {series.counterset()});
  return path.ok() && path->counterset.Matches(series.counterset()) &&
         path->counter.Matches(series.counter());
}

// Collects the lines of a chart. Of each unit, keeps the largest ones.
class ChartReader {
 public:
  // The answer is ranked if the request is.
  explicit ChartReader(const v1::QueryRangeRequest& request)
      : request_(request),
        is_ranked_(request.top() > 0 || request.bottom() > 0) {}

  void Add(const v1::Series& series, const Value& value) {
    Line& line = LineOf(series);
    ChartPoint& point =
        line.line.points.emplace_back(ChartPoint{.time = value.time});
    if (value.ok()) point.value = value.value;
    point.coverage = value.coverage;
    range_end_ = std::max(range_end_, value.range_end.value_or(range_end_));
  }

  // Returns the lines, largest first in each unit, with units in the order of
  // the paths, and the end of the answer's range.
  Chart Finish() {
    Chart chart;
    chart.range.end = range_end_;
    std::vector<v1::Series> series;
    SortUnits();
    for (auto& [unit, lines] : units_) {
      KeepLargest(&lines);
      for (Line& line : lines) {
        series.push_back(std::move(line.series));
        chart.lines.push_back(std::move(line.line));
      }
    }
    SetLabels(series, &chart);
    return chart;
  }

  size_t left_out() const { return left_out_; }

 private:
  struct Line {
    v1::Series series;
    ChartLine line;
  };

  // The answer is in the order of machines.
  void SortUnits() {
    std::stable_sort(units_.begin(), units_.end(),
                     [&](const auto& a, const auto& b) {
                       return PathOf(a.second) < PathOf(b.second);
                     });
  }

  // Returns the number of the first path that selects one of the lines.
  int PathOf(const std::vector<Line>& lines) const {
    int first = request_.paths_size();
    for (const Line& line : lines) {
      for (int i = 0; i < first; ++i) {
        if (Selects(request_.paths(i), line.series)) first = i;
      }
    }
    return first;
  }

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
    if (lines.size() / 2 >= kMaxLines) KeepLargest(&lines);
    return lines.emplace_back(
        Line{series, {.counter = series.counter(), .unit = series.unit()}});
  }

  void KeepLargest(std::vector<Line>* lines) {
    if (is_ranked_) return;
    std::stable_sort(lines->begin(), lines->end(),
                     [](const Line& a, const Line& b) {
                       return SizeOf(a.line) > SizeOf(b.line);
                     });
    if (lines->size() <= kMaxLines) return;
    left_out_ += lines->size() - kMaxLines;
    lines->resize(kMaxLines);
  }

  const v1::QueryRangeRequest& request_;
  const bool is_ranked_;
  // In the order of the answer.
  std::vector<std::pair<std::string, std::vector<Line>>> units_;
  size_t left_out_ = 0;
  absl::Time range_end_ = absl::InfinitePast();
};

// Returns "from ... to ..., one value per 1m". If the lines do not cover the
// range of the chart: "values in 35m of 7d, one per 15s, from ... to ...",
// because narrow terminals cut the end.
std::string SubtitleOf(const Chart& chart, absl::Duration step) {
  constexpr double kWhole = 0.999;
  double part = 0;
  for (const ChartLine& line : chart.lines) {
    part = std::max(part, CoveredPart(line.points, step, chart.range));
  }
  const absl::Duration asked = chart.range.length();
  const std::string range = FormatRange(chart.range.begin, chart.range.end);
  if (part >= kWhole) {
    return absl::StrCat(range, ", one value per ", DurationText(step));
  }
  return absl::StrCat("values in ", RoundDurationText(asked * part), " of ",
                      RoundDurationText(asked), ", one per ",
                      DurationText(step), ", ", range);
}

// Returns the range of the values, which must not be empty, and the longest
// step of a line.
std::pair<TimeRange, absl::Duration> RangeOfValues(const Chart& chart,
                                                   absl::Duration step) {
  TimeRange range;
  absl::Duration longest;
  for (const ChartLine& line : chart.lines) {
    const std::vector<TimeRange> ranges = RangesOf(line.points, step);
    range.Include({ranges.front().begin, ranges.back().end});
    longest = std::max(longest, ranges.front().length());
  }
  return {range, longest};
}

absl::StatusOr<Chart> ReadChart(const Aggregators& aggregators,
                                const QueryFlags& flags,
                                const v1::QueryRangeRequest& request) {
  ChartReader reader(request);
  RETURN_IF_ERROR(ForEachResult(aggregators, flags, request, Printing::kAtEnd,
                                [&](const v1::Series& of, const Value& value) {
                                  reader.Add(of, value);
                                }));
  Chart chart = reader.Finish();
  chart.title = absl::StrJoin(flags.paths, ", ");
  if (reader.left_out() > 0) {
    const size_t shown = chart.lines.size();
    chart.subtitle = absl::StrCat("the ", shown, " largest of ",
                                  shown + reader.left_out(), " lines, ");
  }
  return chart;
}

// Reads a chart of the whole range of the request. Unless the flags have a
// step, reads about `points` values per line: if less than half of the range
// has values, again with a shorter step, until they are as many.
absl::StatusOr<Chart> ReadWholeChart(const Aggregators& aggregators,
                                     const QueryFlags& flags,
                                     v1::QueryRangeRequest request,
                                     size_t points) {
  absl::Duration step = request.has_step()
                            ? FromProto(request.step())
                            : AutomaticStep(LengthOf(request), points);
  TimeRange asked;
  absl::StatusOr<Chart> chart;
  while (true) {
    v1::QueryRangeRequest part = request;
    *part.mutable_step() = ToProto(step);
    chart = ReadChart(aggregators, flags, part);
    if (!chart.ok()) return chart.status();
    const auto [of_values, longest] = RangeOfValues(*chart, step);
    if (asked.length() <= absl::ZeroDuration()) {
      asked = AskedRange(part, of_values, longest, chart->range.end);
    }
    const absl::Duration shorter = AutomaticStep(of_values.length(), points);
    if (request.has_step() || shorter * 2 > step) break;
    step = shorter;
    *request.mutable_start_time() = ToProto(of_values.begin);
    // Otherwise to now, by each machine's clock.
    if (asked.end > of_values.end) {
      *request.mutable_end_time() = ToProto(of_values.end);
    }
  }
  chart->range = asked;
  absl::StrAppend(&chart->subtitle, SubtitleOf(*chart, step));
  return chart;
}

}  // namespace

absl::Status Plot(const Aggregators& aggregators, const QueryFlags& flags,
                  const std::string& output) {
  if (!output.empty()) RETURN_IF_ERROR(CheckPlotFile(output));
  ASSIGN_OR_RETURN(const v1::QueryRangeRequest request, MakeRequest(flags));
  const Size size = SizeOfChart();
  ASSIGN_OR_RETURN(
      const Chart chart,
      ReadWholeChart(aggregators, flags, request,
                     output.empty() ? size.columns : kPointsInFile));
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
