// Draws a series as a row of small bars.

#ifndef FLEETPERF_AGGREGATOR_CLI_SPARKLINE_H_
#define FLEETPERF_AGGREGATOR_CLI_SPARKLINE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/cli/terminal.h"

namespace fleetperf::cli {

// Draws a bar for each value and a mark for each gap (nullopt). The largest
// value has the full height. The height 0 stands for 0, or for the smallest
// value if that is negative. With more than `cells` values (at least 1), each
// bar is the largest of several neighbors, so that peaks remain; a cell without
// values is a gap.
std::string Sparkline(const std::vector<std::optional<double>>& values,
                      size_t cells, Characters characters);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_SPARKLINE_H_
