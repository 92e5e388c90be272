// Charts in files.

#ifndef FLEETPERF_AGGREGATOR_CLI_PLOT_PLOT_FILE_H_
#define FLEETPERF_AGGREGATOR_CLI_PLOT_PLOT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "aggregator/cli/plot/chart.h"

namespace fleetperf::cli {

// Whether a chart can be drawn to a file of this name: an InvalidArgument error
// unless it ends in .svg or .png, an Unimplemented one if this build cannot
// draw files.
absl::Status CheckPlotFile(const std::string& path);

// Draws the chart, which must have a point, and replaces the file. Errors name
// it.
absl::Status WritePlotFile(const Chart& chart, const std::string& path);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_PLOT_PLOT_FILE_H_
