// Formats numbers and times for users: bytes in powers of 1024, times in
// suitable units, large counts with separators, and no more digits than are
// significant. Percentages have two decimals, below 0.01 three, and "<0.001" is
// the smallest.

#ifndef FLEETPERF_CLI_NUMBERS_H_
#define FLEETPERF_CLI_NUMBERS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf::cli {

// Returns a unit as users read it: "/s" for 1/s, which would read as another
// number after a number.
std::string UnitText(absl::string_view unit);

// A number on its own, and its unit: "1.50" "KiB/s". Times of a minute or more
// are "1h2m5s" without a unit. Units are those of UnitText, and "µs" for us.
struct NumberText {
  std::string number;
  std::string unit;
};
NumberText FormatNumber(double value, absl::string_view unit);

// The common divisor of several numbers, in a row or on an axis, and their
// resulting unit.
struct Scale {
  double divisor = 1;
  std::string unit;
};

// Returns the scale that suits `largest`, the largest absolute value in `unit`.
Scale ScaleFor(double largest, absl::string_view unit);

// Formats a number without its unit.
std::string FormatScaled(double value, const Scale& scale);

// Formats a number with exactly this many decimals, and with separators.
std::string FormatDecimals(double value, int decimals);

// Returns a part of a whole that is not complete: "25.0 %", never "100.0 %".
std::string FormatPart(double part);

// Returns "from 2026-11-20T21:00:00Z to 2026-11-20T21:49:06Z", in whole
// seconds.
std::string FormatRange(absl::Time first, absl::Time last);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_NUMBERS_H_
