// Draws charts to files.

#ifndef FLEETPERF_CLI_PLOT_PLOT_FILE_H_
#define FLEETPERF_CLI_PLOT_PLOT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "cli/plot/chart.h"

namespace fleetperf::cli {

// Checks whether a chart can be drawn to `path`. Returns InvalidArgument unless
// the path ends in .svg or .png, and Unimplemented if this build cannot draw
// files.
absl::Status CheckPlotFile(const std::string& path);

// Draws the chart, which must have at least one point, and replaces the file.
// Errors name the file.
absl::Status WritePlotFile(const Chart& chart, const std::string& path);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PLOT_PLOT_FILE_H_
