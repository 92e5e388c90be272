// Exact sums of doubles.

#ifndef FLEETPERF_VALUES_EXACT_SUM_H_
#define FLEETPERF_VALUES_EXACT_SUM_H_

#include <array>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace fleetperf {

// A sum of doubles, and of products of two doubles, without rounding. Its value
// does not depend on the order in which they are added. Only the results are
// rounded, once, to the nearest double (ties to even).
//
// The sum is held as two doubles, the rounded sum and the sum of its rounding
// errors, and as the rounding errors of the latter, which are nearly always 0.
// Example: 1e16 + 1 + 1 is held as 1e16 and 2, although 1e16 + 1 is rounded to
// 1e16. Results are those of parts that have no bit in common, as in Shewchuk's
// "Adaptive Precision Floating-Point Arithmetic".
//
// Limits: if a partial sum is infinite, or a term is not finite, the results
// are not finite; a quotient of sums above 2^960 may be off by its last bit. A
// term below 2^-960 is exact, a product below it may not be.
// Thread-compatible.
class ExactSum {
 public:
  void Add(double value) {
    const double error = AddTo(&high_, value);
    const double rest = AddTo(&low_, error);
    if (rest != 0) AddRest(rest);
  }
  void AddProduct(double a, double b);
  void Add(const ExactSum& other);
  void Subtract(const ExactSum& other);

  double Total() const;

  // Returns the quotient of both sums. `divisor` must be above 0.
  double DividedBy(const ExactSum& divisor) const;
  double DividedBy(double divisor) const;

  // Returns the sum as three doubles: the total, the rounded rest, and the
  // rounded rest of both. Their sum is exact unless the sum's first and last
  // bits are more than 158 bits apart.
  std::array<double, 3> Split() const;

 private:
  // By magnitude, without zeros.
  using Parts = absl::InlinedVector<double, 6>;

  // Adds `value`, rounded. Returns the rounding error, which is exact (Knuth's
  // two-sum).
  static double AddTo(double* sum, double value) {
    const double old = *sum;
    *sum = old + value;
    const double added = *sum - old;
    return (old - (*sum - added)) + (value - added);
  }
  static void AddTo(Parts* parts, double value);
  static double Total(const Parts& parts);
  // Returns -1, 0 or 1.
  static int Sign(const Parts& parts);

  // Returns the quotient if one division shows it, as nearly always.
  std::optional<double> QuickQuotient(double divisor) const;
  void AddRest(double rest);
  Parts AllParts() const;

  double high_ = 0;
  double low_ = 0;
  std::vector<double> rest_;  // as Parts
};

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_EXACT_SUM_H_
