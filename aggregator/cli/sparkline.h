// A series as a row of small bars.

#ifndef FLEETPERF_AGGREGATOR_CLI_SPARKLINE_H_
#define FLEETPERF_AGGREGATOR_CLI_SPARKLINE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/cli/terminal.h"

namespace fleetperf::cli {

// A bar for each value, a mark for each gap (nullopt). The largest has the full
// height; the empty height is 0, or the smallest if that is negative. With more
// than `cells` values, which are at least 1, each bar is the largest of its
// neighbours, so that a peak stays a peak; a cell without any is a gap.
std::string Sparkline(const std::vector<std::optional<double>>& values,
                      size_t cells, Characters characters);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_SPARKLINE_H_
