// What a chart shows, before anything is known of where it is drawn.

#ifndef FLEETPERF_AGGREGATOR_CLI_PLOT_CHART_H_
#define FLEETPERF_AGGREGATOR_CLI_PLOT_CHART_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

struct ChartPoint {
  absl::Time time;
  std::optional<double> value;  // nothing: a gap
};

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
};

// What to call series that are shown together: machine, counterset, instance
// and counter without what all of them have in common; in full where that would
// leave two with the same name, or one without.
std::vector<std::string> LabelsOf(absl::Span<const v1::Series> series);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_PLOT_CHART_H_
