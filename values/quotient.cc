#include "values/quotient.h"

#include <array>
#include <cstddef>

#include "absl/base/casts.h"
#include "absl/numeric/bits.h"

namespace fleetperf {

namespace {

int BitsOf(uint64_t value) { return 64 - absl::countl_zero(value); }

int BitsOf(absl::uint128 value) {
  const uint64_t high = absl::Uint128High64(value);
  return high != 0 ? 64 + BitsOf(high) : BitsOf(absl::Uint128Low64(value));
}

}  // namespace

// An unsigned integer of 320 bits.
class Wide {
 public:
  explicit Wide(const Product& product) {
    limbs_[0] = absl::Uint128Low64(product.value_);
    limbs_[1] = absl::Uint128High64(product.value_);
    for (size_t i = 0; i < product.count_; ++i) {
      uint64_t carry = 0;
      for (uint64_t& limb : limbs_) {
        const absl::uint128 sum =
            absl::uint128(limb) * product.factors_[i] + carry;
        limb = absl::Uint128Low64(sum);
        carry = absl::Uint128High64(sum);
      }
    }
  }

  int Bits() const {
    for (size_t i = limbs_.size(); i-- > 0;) {
      if (limbs_[i] != 0) return 64 * static_cast<int>(i) + BitsOf(limbs_[i]);
    }
    return 0;
  }

  void ShiftLeft(int bits) {
    const auto whole = static_cast<size_t>(bits / 64);
    const int rest = bits % 64;
    for (size_t i = limbs_.size(); i-- > 0;) {
      const uint64_t upper = i >= whole ? limbs_[i - whole] : 0;
      const uint64_t lower = i > whole ? limbs_[i - whole - 1] : 0;
      limbs_[i] = rest == 0 ? upper : upper << rest | lower >> (64 - rest);
    }
  }

  // Subtracts `other` if it is not larger. Returns whether it is not.
  bool TrySubtract(const Wide& other) {
    Wide difference = *this;
    uint64_t borrow = 0;
    for (size_t i = 0; i < limbs_.size(); ++i) {
      const absl::uint128 rest =
          absl::uint128(limbs_[i]) - other.limbs_[i] - borrow;
      difference.limbs_[i] = absl::Uint128Low64(rest);
      borrow = absl::Uint128High64(rest) & 1;
    }
    if (borrow == 0) *this = difference;
    return borrow == 0;
  }

 private:
  std::array<uint64_t, 5> limbs_ = {};
};

namespace {

// Returns (q + r) * 2^exponent, rounded once. q has 55 bits or more; r is in
// [0, 1), and `has_rest` if it is not 0.
double Rounded(uint64_t q, bool has_rest, int exponent) {
  const int dropped = BitsOf(q) - 53;
  const uint64_t half = uint64_t{1} << (dropped - 1);
  const uint64_t rest = q & (2 * half - 1);
  uint64_t mantissa = q >> dropped;
  if (rest > half || (rest == half && (has_rest || mantissa % 2 == 1))) {
    ++mantissa;
  }
  // A power of two, as bits.
  const auto biased = static_cast<uint64_t>(exponent + dropped + 1023);
  return static_cast<double>(mantissa) * absl::bit_cast<double>(biased << 52);
}

double QuotientOfWide(Wide n, Wide d) {
  const int n_bits = n.Bits();
  if (n_bits == 0) return 0;
  // Shifted to the same number of bits, their quotient is between 1/2 and 2.
  // So 64 steps of long division yield 63 or 64 bits.
  const int shift = n_bits - d.Bits();
  if (shift > 0) d.ShiftLeft(shift);
  if (shift < 0) n.ShiftLeft(-shift);
  uint64_t q = 0;
  for (int step = 0; step < 64; ++step) {
    q = q << 1 | (n.TrySubtract(d) ? 1 : 0);
    n.ShiftLeft(1);
  }
  return Rounded(q, /*has_rest=*/n.Bits() > 0, shift - 63);
}

// Returns n / d, where `n` is not 0. The quotient of numbers shifted to 127 and
// 64 bits has 63 or 64 bits.
double QuotientBy64(absl::uint128 n, uint64_t d) {
  const int n_shift = 127 - BitsOf(n);
  const int d_shift = 64 - BitsOf(d);
  const bool is_odd = n_shift < 0 && (absl::Uint128Low64(n) & 1) != 0;
  n = n_shift < 0 ? n >> 1 : n << n_shift;
  d <<= d_shift;
  const absl::uint128 q = n / d;
  return Rounded(absl::Uint128Low64(q), is_odd || q * d != n,
                 d_shift - n_shift);
}

}  // namespace

double SlowQuotientOf(const Product& n, const Product& d) {
  if (n.count_ > 0 || d.count_ > 0 || absl::Uint128High64(d.value_) != 0) {
    return QuotientOfWide(Wide(n), Wide(d));
  }
  if (n.value_ == 0) return 0;
  return QuotientBy64(n.value_, absl::Uint128Low64(d.value_));
}

}  // namespace fleetperf
