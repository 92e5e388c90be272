// Sums that are rounded once.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_PRECISE_SUM_H_
#define FLEETPERF_AGGREGATOR_FORMULA_PRECISE_SUM_H_

#include <cmath>

namespace fleetperf::aggregator {

// A sum of doubles, or of products of two doubles, in twice the precision of
// double. The weighted mean of equal values is that value, for up to 2^20
// values and any weights above 0. Infinite or NaN if a partial sum is not
// finite. Thread-compatible.
class PreciseSum {
 public:
  void Add(double value) {
    const double sum = high_ + value;
    // The exact rounding error of `sum` (Knuth's two-sum).
    const double added = sum - high_;
    low_ += (high_ - (sum - added)) + (value - added);
    high_ = sum;
  }
  void AddProduct(double a, double b) {
    const double product = a * b;
    Add(product);
    low_ += std::fma(a, b, -product);
  }

  double Total() const { return high_ + low_; }

  double DividedBy(const PreciseSum& divisor) const {
    const PreciseSum a = Normalized();
    const PreciseSum b = divisor.Normalized();
    const double quotient = a.high_ / b.high_;
    const double rest =
        std::fma(-quotient, b.high_, a.high_) + (a.low_ - quotient * b.low_);
    return quotient + rest / b.high_;
  }
  double DividedBy(double divisor) const {
    PreciseSum sum;
    sum.high_ = divisor;
    return DividedBy(sum);
  }

 private:
  // Returns the same sum with the largest possible upper half.
  PreciseSum Normalized() const {
    PreciseSum sum;
    sum.high_ = high_ + low_;
    sum.low_ = low_ - (sum.high_ - high_);
    return sum;
  }

  double high_ = 0;
  double low_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_PRECISE_SUM_H_
