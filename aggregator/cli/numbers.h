// Numbers and times as people read them: bytes in powers of 1024, times in
// their own units, large counts with separators, no more digits than mean
// something.

#ifndef FLEETPERF_AGGREGATOR_CLI_NUMBERS_H_
#define FLEETPERF_AGGREGATOR_CLI_NUMBERS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf::cli {

// A number that stands alone, and its unit: "1.50" "KiB/s". Times of a minute
// or more are "1h2m5s" without a unit.
struct NumberText {
  std::string number;
  std::string unit;
};
NumberText FormatNumber(double value, absl::string_view unit);

// What numbers that stand together, in a row or on an axis, are divided by, and
// the unit that they then have.
struct Scale {
  double divisor = 1;
  std::string unit;
};

// The one that suits `largest`, the largest of them without their signs, which
// is in `unit`.
Scale ScaleFor(double largest, absl::string_view unit);

// A number without its unit.
std::string FormatScaled(double value, const Scale& scale);

// A number with exactly so many decimals, and with separators.
std::string FormatDecimals(double value, int decimals);

// "from 2026-11-20T21:00:00Z to 2026-11-20T21:49:06Z": whole seconds.
std::string FormatRange(absl::Time first, absl::Time last);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_NUMBERS_H_
