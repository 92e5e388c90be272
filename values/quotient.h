// Quotients of products of integers, rounded once.

#ifndef FLEETPERF_VALUES_QUOTIENT_H_
#define FLEETPERF_VALUES_QUOTIENT_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/numeric/int128.h"

namespace fleetperf {

// A product of integers. Multiply by the largest ones last: only the first
// factors that exceed 64 bits together are multiplied fast.
class Product {
 public:
  // Implicit: an integer is a product.
  Product(uint64_t value) : value_(value) {}
  Product(absl::uint128 value) : value_(value) {}

  // At most three factors may follow a product of 2^64 or more.
  Product operator*(uint64_t factor) const {
    Product product = *this;
    if (absl::Uint128High64(value_) == 0) {
      product.value_ *= factor;
    } else if (factor != 1) {
      product.factors_[product.count_++] = factor;
    }
    return product;
  }

 private:
  friend double QuotientOf(const Product& n, const Product& d);
  friend double SlowQuotientOf(const Product& n, const Product& d);
  friend class Wide;

  bool is_exact_double() const {
    return count_ == 0 && value_ <= (uint64_t{1} << 53);
  }

  absl::uint128 value_;
  size_t count_ = 0;
  std::array<uint64_t, 3> factors_ = {};  // others
};

double SlowQuotientOf(const Product& n, const Product& d);

// Returns the double next to n / d, and of two that are equally near, the one
// whose last bit is 0. Each product must be below 2^256, and `d` must not be 0.
// The result has the same bits with every compiler and processor.
//
// Example: 3 bytes in 10^8 ticks of a clock with 10^7 ticks per second are
// QuotientOf(Product(3) * 10'000'000, 100'000'000) = 0.3 bytes per second.
inline double QuotientOf(const Product& n, const Product& d) {
  if (!n.is_exact_double() || !d.is_exact_double()) return SlowQuotientOf(n, d);
  // The quotient of two numbers without rounding error is rounded once.
  return static_cast<double>(absl::Uint128Low64(n.value_)) /
         static_cast<double>(absl::Uint128Low64(d.value_));
}

// Returns n / d, but at least 0 and at most 1: lengths may be negative if
// clocks went back.
inline double PartOf(int64_t n, int64_t d) {
  if (n >= d) return 1;
  if (n <= 0) return 0;
  return QuotientOf(static_cast<uint64_t>(n), static_cast<uint64_t>(d));
}

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_QUOTIENT_H_
