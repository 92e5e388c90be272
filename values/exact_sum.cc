#include "values/exact_sum.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/base/casts.h"

namespace fleetperf {
namespace {

// The bits of a double.
constexpr uint64_t kExponent = uint64_t{0x7FF} << 52;
constexpr uint64_t kSign = uint64_t{1} << 63;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsEven(double value) { return absl::bit_cast<uint64_t>(value) % 2 == 0; }

}  // namespace

void ExactSum::AddTo(Parts* parts, double value) {
  size_t kept = 0;
  for (const double part : *parts) {
    const double rest = AddTo(&value, part);
    if (rest != 0) (*parts)[kept++] = rest;
  }
  parts->resize(kept);
  if (value != 0) parts->push_back(value);
}

void ExactSum::AddRest(double rest) {
  if (!std::isfinite(rest)) return;  // so are the results
  Parts parts(rest_.begin(), rest_.end());
  AddTo(&parts, rest);
  rest_.assign(parts.begin(), parts.end());
}

ExactSum::Parts ExactSum::AllParts() const {
  Parts parts(rest_.begin(), rest_.end());
  AddTo(&parts, low_);
  AddTo(&parts, high_);
  return parts;
}

void ExactSum::AddProduct(double a, double b) {
  const double product = a * b;
  Add(product);
  if (b != 1) Add(std::fma(a, b, -product));
}

void ExactSum::Add(const ExactSum& other) {
  for (const double part : other.AllParts()) Add(part);
}

void ExactSum::Subtract(const ExactSum& other) {
  for (const double part : other.AllParts()) Add(-part);
}

double ExactSum::Total() const { return Total(AllParts()); }

double ExactSum::Total(const Parts& parts) {
  size_t next = parts.size();
  if (next == 0) return 0;
  double total = parts[--next];
  double rest = 0;
  while (next > 0 && rest == 0) rest = AddTo(&total, parts[--next]);
  // `total` was rounded to even from the middle of two doubles: the smaller
  // parts say which one is nearer.
  if (next > 0 && rest != 0 && (rest < 0) == (parts[next - 1] < 0)) {
    const double other = total + 2 * rest;
    if (other - total == 2 * rest) return other;
  }
  return total;
}

int ExactSum::Sign(const Parts& parts) {
  if (parts.empty()) return 0;
  return parts.back() < 0 ? -1 : 1;
}

std::optional<double> ExactSum::QuickQuotient(double divisor) const {
  if (!rest_.empty()) return std::nullopt;
  const double of_high = high_ / divisor;
  if (low_ == 0) return of_high;
  // The remainder of a division is a double, unless it is too small.
  const auto remainder_of = [&](double quotient) {
    return std::fma(-quotient, divisor, high_) + low_;
  };
  const double quotient = of_high + remainder_of(of_high) / divisor;
  const auto bits = absl::bit_cast<uint64_t>(quotient);
  // Doubles below a power of two are nearer to each other.
  const bool is_power_of_two = (bits & ~(kSign | kExponent)) == 0;
  if (std::abs(high_) < 0x1p-900 || std::abs(quotient) < 0x1p-900 ||
      is_power_of_two) {
    return std::nullopt;
  }
  // Nearly half of the distance to the next double: remainders are rounded.
  const double limit =
      absl::bit_cast<double>(bits & kExponent) * 0.499 * 0x1p-52;
  if (!(std::abs(remainder_of(quotient)) < limit * divisor)) {
    return std::nullopt;
  }
  return quotient;
}

double ExactSum::DividedBy(double divisor) const {
  ExactSum sum;
  sum.Add(divisor);
  return DividedBy(sum);
}

double ExactSum::DividedBy(const ExactSum& divisor) const {
  if (divisor.low_ == 0 && divisor.rest_.empty()) {
    const auto quotient = QuickQuotient(divisor.high_);
    if (quotient.has_value()) return *quotient;
  }
  const Parts dividends = AllParts();
  const Parts divisors = divisor.AllParts();
  double quotient = Total(dividends) / Total(divisors);
  // One division rounds once if neither number was rounded.
  if (dividends.size() <= 1 && divisors.size() <= 1) return quotient;
  // The quotient is nearly right. Moves it as long as the exact one is beyond
  // the middle between it and the next double.
  while (std::isfinite(quotient)) {
    const auto add_difference = [&](double factor, Parts* parts) {
      for (const double part : dividends) AddTo(parts, part);
      for (const double part : divisors) {
        const double product = factor * part;
        AddTo(parts, -product);
        AddTo(parts, -std::fma(factor, part, -product));
      }
    };
    Parts rest;
    add_difference(quotient, &rest);
    const int sign = Sign(rest);
    if (sign == 0) break;
    const double next = std::nextafter(quotient, sign * kInfinity);
    add_difference(next, &rest);
    const int beyond_middle = Sign(rest);
    if (beyond_middle == -sign) break;
    // Near the largest double, differences may not be finite.
    if (beyond_middle != 0 && !std::isfinite(rest.back())) break;
    if (beyond_middle == 0 && IsEven(quotient)) break;
    quotient = next;
    if (beyond_middle == 0) break;
  }
  return quotient;
}

std::array<double, 3> ExactSum::Split() const {
  std::array<double, 3> split = {};
  ExactSum rest = *this;
  for (double& part : split) {
    part = rest.Total();
    rest.Add(-part);
  }
  return split;
}

}  // namespace fleetperf
