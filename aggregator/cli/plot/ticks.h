// Where the axes of a chart have their marks, and what is written at them.

#ifndef FLEETPERF_AGGREGATOR_CLI_PLOT_TICKS_H_
#define FLEETPERF_AGGREGATOR_CLI_PLOT_TICKS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace fleetperf::cli {

// An axis for values: from `low` to `high` in steps of 1, 2 or 5 times a power
// of ten.
struct ValueAxis {
  double low = 0;
  double high = 1;
  double step = 1;

  // low, low + step, ... high.
  std::vector<double> Ticks() const;
  // With as many decimals as tell ticks apart.
  std::string Label(double tick) const;
};

// The axis with the smallest step that holds 0 and all from `smallest` to
// `largest` and has no more than `max_steps` steps, which are at least 2.
ValueAxis MakeValueAxis(double smallest, double largest, int max_steps);

// The shortest of the durations that people count time in, 1 s, 2 s, 5 s, 10 s,
// 15 s, 30 s, the same in minutes, 1 h, 2 h, 3 h, 6 h, 12 h, days and weeks,
// that is no shorter than `shortest`.
absl::Duration RoundDuration(absl::Duration shortest);

// The multiples of `step` in UTC from `first` to `last`.
std::vector<absl::Time> TimeTicks(absl::Time first, absl::Time last,
                                  absl::Duration step);

// "21:49:05", "21:49", or at the start of a day "Nov 20", in UTC.
std::string TimeLabel(absl::Time tick, absl::Duration step);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_PLOT_TICKS_H_
