// Draws series as rows of small bars.

#ifndef FLEETPERF_CLI_SPARKLINE_H_
#define FLEETPERF_CLI_SPARKLINE_H_

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/terminal.h"
#include "cli/timeline.h"

namespace fleetperf::cli {

// The values that rows with the same scale show. The height 0 stands for 0, or
// for the smallest value if that is negative; the full height for the largest.
struct TrendScale {
  double low = 0;
  double high = -std::numeric_limits<double>::infinity();

  void Add(const std::optional<double>& value);
};

// Draws a bar for each value and a blank for each gap (nullopt). With more than
// `cells` values (at least 1), each bar is the largest of several neighbors, so
// that peaks remain; a cell without values is a gap.
std::string Sparkline(const std::vector<std::optional<double>>& values,
                      size_t cells, Characters characters,
                      const TrendScale& scale);

// Divides the time `axis` into `cells` parts (at least 1). Returns the largest
// of the values in each, or nullopt. `ranges` are those of the values.
std::vector<std::optional<double>> OnAxis(absl::Span<const TimedValue> values,
                                          absl::Span<const TimeRange> ranges,
                                          const TimeRange& axis, size_t cells);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_SPARKLINE_H_
