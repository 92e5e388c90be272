// Products of counts and factors.

#ifndef FLEETPERF_BASE_SCALED_COUNT_H_
#define FLEETPERF_BASE_SCALED_COUNT_H_

#include <cmath>
#include <cstdint>

#include "absl/numeric/int128.h"

namespace fleetperf {

// Returns count * factor, rounded down; 0 if the factor is not above 0, and
// 2^64 - 1 if the product is more or the factor is 2^53 or more. The same on
// every processor, because integers are multiplied.
inline uint64_t ScaledCount(uint64_t count, double factor) {
  if (count == 0 || !(factor > 0)) return 0;
  if (factor >= std::ldexp(1.0, 53)) return UINT64_MAX;
  int exponent = 0;
  const double mantissa = std::ldexp(std::frexp(factor, &exponent), 53);
  const int shift = 53 - exponent;
  if (shift >= 128) return 0;
  const absl::uint128 product =
      absl::uint128(count) * static_cast<uint64_t>(mantissa) >> shift;
  return absl::Uint128High64(product) == 0 ? absl::Uint128Low64(product)
                                           : UINT64_MAX;
}

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SCALED_COUNT_H_
