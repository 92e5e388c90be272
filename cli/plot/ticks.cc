#include "cli/plot/ticks.h"

#include <algorithm>
#include <cmath>

#include "cli/numbers.h"
#include "cli/times.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);
constexpr absl::Duration kWeek = absl::Hours(7 * 24);

constexpr absl::Duration kDurations[] = {absl::Seconds(1),  absl::Seconds(2),
                                         absl::Seconds(5),  absl::Seconds(10),
                                         absl::Seconds(15), absl::Seconds(30),
                                         absl::Minutes(1),  absl::Minutes(2),
                                         absl::Minutes(5),  absl::Minutes(10),
                                         absl::Minutes(15), absl::Minutes(30),
                                         absl::Hours(1),    absl::Hours(2),
                                         absl::Hours(3),    absl::Hours(6),
                                         absl::Hours(12),   kDay,
                                         absl::Hours(48),   kWeek};

// Returns the smallest of 1, 2 and 5 times a power of ten that is at least
// `least`, which must be positive.
double RoundStep(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1, 2, 5}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::vector<double> ValueAxis::Ticks() const {
  std::vector<double> ticks;
  const auto count = static_cast<int>(std::lround((high - low) / step));
  // Multiplies, so that errors do not accumulate and 0 is exact.
  const double first = std::round(low / step);
  for (int i = 0; i <= count; ++i) ticks.push_back((first + i) * step);
  return ticks;
}

std::string ValueAxis::Label(double tick) const {
  const int decimals = -static_cast<int>(std::floor(std::log10(step) + 1e-9));
  return FormatDecimals(tick, std::max(0, decimals));
}

ValueAxis MakeValueAxis(double smallest, double largest, int max_steps) {
  const double low = std::min(0.0, smallest);
  const double high = std::max(0.0, largest);
  if (low == high) return {};
  double step = RoundStep((high - low) / max_steps);
  // Rounding both ends to multiples of the step may add a step.
  while (std::ceil(high / step) - std::floor(low / step) > max_steps) {
    step = RoundStep(step * 1.5);
  }
  return {std::floor(low / step) * step, std::ceil(high / step) * step, step};
}

absl::Duration RoundDuration(absl::Duration shortest) {
  for (const absl::Duration duration : kDurations) {
    if (duration >= shortest) return duration;
  }
  return absl::Ceil(shortest, kWeek);
}

namespace {

// The time since midnight of some day in the user's zone.
absl::Duration SinceMidnights(absl::Time time) {
  return time - absl::UnixEpoch() + absl::Seconds(UserZone().At(time).offset);
}

}  // namespace

std::vector<absl::Time> TimeTicks(absl::Time first, absl::Time last,
                                  absl::Duration step) {
  std::vector<absl::Time> ticks;
  absl::Time tick =
      first - SinceMidnights(first) + absl::Ceil(SinceMidnights(first), step);
  for (; tick <= last; tick += step) ticks.push_back(tick);
  return ticks;
}

std::string TimeLabel(absl::Time tick, absl::Duration step) {
  const absl::Duration of_day = SinceMidnights(tick);
  const char* format = of_day == absl::Trunc(of_day, kDay) ? "%b %d"
                       : step < absl::Minutes(1)           ? "%H:%M:%S"
                                                           : "%H:%M";
  return absl::FormatTime(format, tick, UserZone());
}

}  // namespace fleetperf::cli
