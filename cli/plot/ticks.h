// Computes the ticks of a chart's axes and their labels.

#ifndef FLEETPERF_CLI_PLOT_TICKS_H_
#define FLEETPERF_CLI_PLOT_TICKS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace fleetperf::cli {

// An axis of values: from `low` to `high` in steps of 1, 2 or 5 times a power
// of ten.
struct ValueAxis {
  double low = 0;
  double high = 1;
  double step = 1;

  // Returns low, low + step, ... high.
  std::vector<double> Ticks() const;
  // Returns a label with enough decimals to distinguish ticks.
  std::string Label(double tick) const;
};

// Returns the axis with the smallest step that contains 0 and the range from
// `smallest` to `largest` in at most `max_steps` steps (at least 2).
ValueAxis MakeValueAxis(double smallest, double largest, int max_steps);

// Returns the shortest round duration that is not shorter than `shortest`: 1,
// 2, 5, 10, 15 or 30 seconds or minutes, 1, 2, 3, 6 or 12 hours, days or weeks.
absl::Duration RoundDuration(absl::Duration shortest);

// Returns the multiples of `step` in UTC from `first` to `last`.
std::vector<absl::Time> TimeTicks(absl::Time first, absl::Time last,
                                  absl::Duration step);

// Returns "21:49:05", "21:49", or "Nov 20" at the start of a day, in UTC.
std::string TimeLabel(absl::Time tick, absl::Duration step);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PLOT_TICKS_H_
