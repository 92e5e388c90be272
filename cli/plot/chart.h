// The contents of a chart, independent of its output.

#ifndef FLEETPERF_CLI_PLOT_CHART_H_
#define FLEETPERF_CLI_PLOT_CHART_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/timeline.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

using ChartPoint = TimedValue;

struct ChartLine {
  std::string label;
  std::string counter;
  std::string unit;
  std::vector<ChartPoint> points;  // by time
};

struct Chart {
  std::string title;
  std::string subtitle;
  std::vector<ChartLine> lines;
  // Of the time axis, which is longer if points are outside.
  TimeRange range = {};
};

// Returns labels for series in the same chart: machine, counterset, instance
// and counter without the parts that all have in common. If that made two
// labels equal or one empty, returns full labels.
std::vector<std::string> LabelsOf(absl::Span<const v1::Series> series);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PLOT_CHART_H_
