// Exact arithmetic for golden values, independent of the code under test.

#ifndef FLEETPERF_TESTS_SUPPORT_EXACT_H_
#define FLEETPERF_TESTS_SUPPORT_EXACT_H_

#include <cmath>
#include <cstdint>

#include "absl/numeric/int128.h"

namespace fleetperf::testing {

// Returns the double nearest to numerator / denominator. Both must be below
// 2^126. Long division yields 55 bits, which are rounded once to 53, half to
// even.
inline double Quotient(absl::uint128 numerator, absl::uint128 denominator) {
  if (numerator == 0) return 0;
  absl::uint128 quotient = numerator / denominator;
  absl::uint128 rest = numerator % denominator;
  int exponent = 0;
  bool inexact = false;
  for (; (quotient >> 55) != 0; quotient >>= 1, ++exponent) {
    inexact = inexact || (quotient & 1) != 0;
  }
  for (; (quotient >> 54) == 0; --exponent) {
    rest <<= 1;
    quotient = quotient << 1 | (rest >= denominator ? 1 : 0);
    if (rest >= denominator) rest -= denominator;
  }
  inexact = inexact || rest != 0;
  auto mantissa = static_cast<uint64_t>(quotient >> 2);
  const auto below = static_cast<unsigned>(quotient & 3);  // in quarters
  if (below == 3 || (below == 2 && (inexact || mantissa % 2 == 1))) ++mantissa;
  return std::ldexp(static_cast<double>(mantissa), exponent + 2);
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_EXACT_H_
