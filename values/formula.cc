#include "values/formula.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "absl/base/attributes.h"
#include "perflib/registration.h"
#include "values/quotient.h"

namespace fleetperf {
namespace {

using perflib::Denominator;
using perflib::Formula;

constexpr uint64_t kPowersOf10[] = {
    1,         10,         100,         1'000,         10'000,        100'000,
    1'000'000, 10'000'000, 100'000'000, 1'000'000'000, 10'000'000'000};
static_assert(std::size(kPowersOf10) == perflib::kMaxScale + 1);

// Of the frequencies of a sum.
constexpr uint64_t kMaxMultiple = uint64_t{1} << 62;

// Factors of a product; 1: none.
struct Factors {
  uint64_t a = 1;
  uint64_t b = 1;
};

// Multiplies if a double holds the product exactly.
bool Multiply(absl::uint128 value, const Factors& factors, uint64_t* product) {
  constexpr uint64_t kMaxExact = uint64_t{1} << 53;
  return absl::Uint128High64(value) == 0 &&
         !__builtin_mul_overflow(absl::Uint128Low64(value), factors.a,
                                 product) &&
         !__builtin_mul_overflow(*product, factors.b, product) &&
         *product <= kMaxExact;
}

double SlowScaled(const CounterFormula& formula, absl::uint128 n,
                  const Factors& n_factors, absl::uint128 d,
                  const Factors& d_factors) {
  return QuotientOf(Product(n) * n_factors.a * n_factors.b *
                        kPowersOf10[std::max(formula.scale, 0)],
                    Product(d) * d_factors.a * d_factors.b *
                        kPowersOf10[std::max(-formula.scale, 0)]);
}

// Returns the quotient of two products as it is displayed. Called once for each
// value, mostly with constant factors.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline double Scaled(const CounterFormula& formula,
                                                  absl::uint128 n,
                                                  const Factors& n_factors,
                                                  absl::uint128 d,
                                                  const Factors& d_factors) {
  uint64_t numerator = 0;
  uint64_t denominator = 0;
  if (formula.scale != 0 || !Multiply(n, n_factors, &numerator) ||
      !Multiply(d, d_factors, &denominator)) {
    return SlowScaled(formula, n, n_factors, d, d_factors);
  }
  // The quotient of two numbers without rounding error is rounded once.
  return static_cast<double>(numerator) / static_cast<double>(denominator);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline CalculatedValue Result(
    const CounterFormula& formula, absl::uint128 n, const Factors& n_factors,
    absl::uint128 d, const Factors& d_factors = {}) {
  return CalculatedValue::Of(Scaled(formula, n, n_factors, d, d_factors));
}

// Returns 100 * (a - b) / d.
CalculatedValue PercentOfDifference(const CounterFormula& formula,
                                    absl::uint128 a, absl::uint128 b,
                                    absl::uint128 d) {
  if (a >= b) return Result(formula, a - b, {100}, d);
  return CalculatedValue::Of(-Scaled(formula, b - a, {100}, d, {}));
}

// Returns the growth of a number, or std::nullopt if it decreased. A 4-byte
// number that may wrap has wrapped if its growth modulo 2^32 is less than half
// of its range.
std::optional<uint64_t> Grown(const RawValue& older, const RawValue& newer,
                              bool may_wrap) {
  if (newer.value >= older.value) return newer.value - older.value;
  constexpr uint32_t kHalf = uint32_t{1} << 31;
  const auto wrapped = static_cast<uint32_t>(newer.value - older.value);
  if (may_wrap && older.size == 4 && newer.size == 4 && wrapped < kHalf) {
    return wrapped;
  }
  return std::nullopt;
}

std::optional<uint64_t> Grown(int64_t older, int64_t newer) {
  if (newer < older) return std::nullopt;
  return static_cast<uint64_t>(newer) - static_cast<uint64_t>(older);
}

std::optional<uint64_t> DenominatorGrown(const CounterFormula& formula,
                                         const RawSample& older,
                                         const RawSample& newer) {
  switch (formula.denominator) {
    case Denominator::kNone:
      return 0;
    case Denominator::kPerfTimeStamp:
      return Grown(older.clocks.perf_time_stamp, newer.clocks.perf_time_stamp);
    case Denominator::kPerfTime100NSec:
      return Grown(older.clocks.perf_time_100nsec,
                   newer.clocks.perf_time_100nsec);
    case Denominator::kBaseCounter:
    case Denominator::kPerfTimeCounter:
      return Grown(older.denominator, newer.denominator, /*may_wrap=*/true);
  }
  return std::nullopt;
}

// Returns whether N counts ticks of Growth::perf_freq: the formula divides it
// by such ticks or by the frequency.
bool CountsTicks(const CounterFormula& formula) {
  switch (formula.formula) {
    case Formula::kQueueLength:
    case Formula::kTimer:
    case Formula::kTimerInverse:
    case Formula::kMultiTimerInverse:
      return formula.denominator == Denominator::kPerfTimeStamp;
    case Formula::kAverageTimer:
    case Formula::kElapsedTime:
      return true;
    default:
      return false;
  }
}

// The same of D.
bool DividesByTicks(const CounterFormula& formula) {
  return formula.denominator == Denominator::kPerfTimeStamp ||
         formula.formula == Formula::kElapsedTime;
}

// Returns a multiple of both frequencies, or the newer one if the multiple is
// too large.
uint64_t CommonFrequency(uint64_t older, uint64_t newer) {
  const absl::uint128 multiple =
      absl::uint128(older / std::gcd(older, newer)) * newer;
  return multiple <= kMaxMultiple ? absl::Uint128Low64(multiple) : newer;
}

// Returns the status of types that never have a value.
std::optional<ValueStatus> UndisplayableStatus(const CounterFormula& formula) {
  if (!formula.known_type) return ValueStatus::kUnknownType;
  if (formula.formula == Formula::kNotDisplayable) {
    return ValueStatus::kNotDisplayable;
  }
  return std::nullopt;
}

}  // namespace

Growth InFrequency(const CounterFormula& formula, Growth growth,
                   uint64_t freq) {
  if (growth.perf_freq == freq || growth.perf_freq == 0 || freq == 0) {
    return growth;
  }
  const auto convert = [&](absl::uint128* ticks) {
    *ticks = freq % growth.perf_freq == 0 ? *ticks * (freq / growth.perf_freq)
                                          : *ticks * freq / growth.perf_freq;
  };
  if (CountsTicks(formula)) convert(&growth.value);
  if (DividesByTicks(formula)) convert(&growth.denominator);
  growth.perf_freq = freq;
  return growth;
}

void AddConverted(const CounterFormula& formula, const Growth& piece,
                  Growth* sum) {
  const uint64_t freq = CommonFrequency(sum->perf_freq, piece.perf_freq);
  *sum = InFrequency(formula, *sum, freq);
  AddGrowth(formula, InFrequency(formula, piece, freq), sum);
}

CalculatedValue CalculateGrowth(const CounterFormula& formula,
                                const Growth& growth) {
  if (const auto status = UndisplayableStatus(formula)) {
    return CalculatedValue::Of(*status);
  }
  if (formula.denominator != Denominator::kNone && growth.denominator == 0) {
    return CalculatedValue::Of(ValueStatus::kZeroDenominator);
  }
  if (NeedsPerfFreq(formula) && growth.perf_freq == 0) {
    return CalculatedValue::Of(ValueStatus::kBadFrequency);
  }
  if (NeedsMulti(formula) && growth.multi == 0) {
    return CalculatedValue::Of(ValueStatus::kZeroMulti);
  }
  const absl::uint128 n = growth.value;
  const absl::uint128 d = growth.denominator;
  const uint64_t f = growth.perf_freq;
  const uint64_t m = growth.multi;
  switch (formula.formula) {
    case Formula::kDelta:
      return Result(formula, n, {}, 1);
    case Formula::kRate:
      return Result(formula, n, {f}, d);
    case Formula::kQueueLength:
    case Formula::kAverageBulk:
      return Result(formula, n, {}, d);
    case Formula::kTimer:
    case Formula::kSampleFraction:
    case Formula::kRawFraction:
      return Result(formula, n, {100}, d);
    case Formula::kTimerInverse:
      return PercentOfDifference(formula, growth.denominator, growth.value,
                                 growth.denominator);
    case Formula::kMultiTimer:
      return Result(formula, n, {100, f}, d, {m});
    case Formula::kMultiTimer100Ns:
      return Result(formula, n, {100}, d, {m});
    case Formula::kMultiTimerInverse:
      // D is a length of less than 2^64 ticks.
      return PercentOfDifference(formula, growth.denominator * m, growth.value,
                                 growth.denominator);
    case Formula::kAverageTimer:
      return Result(formula, n, {}, d, {f});
    case Formula::kNotDisplayable:
    case Formula::kRaw:
    case Formula::kElapsedTime:
      break;
  }
  return CalculatedValue::Of(ValueStatus::kNotDisplayable);
}

CalculatedValue CalculateSample(const CounterFormula& formula,
                                const RawSample& sample) {
  if (const auto status = UndisplayableStatus(formula)) {
    return CalculatedValue::Of(*status);
  }
  if (!sample.value.has_value()) {
    return CalculatedValue::Gap(GapCause::kNoValue);
  }
  const uint64_t n = sample.value.value;
  const uint64_t d = sample.denominator.value;  // 0 if there is none
  switch (formula.formula) {
    case Formula::kRaw:
      return Result(formula, n, {}, 1);
    case Formula::kRawFraction:
      if (d == 0) return CalculatedValue::Of(ValueStatus::kZeroDenominator);
      return Result(formula, n, {100}, d);
    case Formula::kElapsedTime: {
      if (!sample.denominator.has_value()) {
        return CalculatedValue::Of(ValueStatus::kZeroDenominator);
      }
      const uint64_t f = sample.frequency.value;  // 0 if there is none
      if (f == 0) return CalculatedValue::Of(ValueStatus::kBadFrequency);
      if (d < n) return CalculatedValue::Of(ValueStatus::kNegativeValue);
      return Result(formula, d - n, {}, f);
    }
    default:
      return CalculatedValue::Of(ValueStatus::kNeedTwoSamples);
  }
}

CalculatedValue CalculateSampleSum(const CounterFormula& formula,
                                   const Growth& sum, uint64_t divisor) {
  switch (formula.formula) {
    case Formula::kRaw:
      return Result(formula, sum.value, {}, divisor);
    case Formula::kElapsedTime:
      if (sum.perf_freq == 0) {
        return CalculatedValue::Of(ValueStatus::kBadFrequency);
      }
      if (sum.denominator < sum.value) {
        return CalculatedValue::Of(ValueStatus::kNegativeValue);
      }
      return Result(formula, sum.denominator - sum.value, {}, divisor,
                    {sum.perf_freq});
    default:
      return CalculatedValue::Of(ValueStatus::kNeedTwoSamples);
  }
}

bool Fell(const RawValue& older, const RawValue& newer, bool may_wrap) {
  return !Grown(older, newer, may_wrap).has_value();
}

GrowthOrStatus GrowthBetween(const CounterFormula& formula,
                             const RawSample& older, const RawSample& newer) {
  if (NeedsDenominatorCounter(formula) &&
      (!older.denominator.has_value() || !newer.denominator.has_value())) {
    return {.status = ValueStatus::kZeroDenominator};
  }
  const auto value = Grown(older.value, newer.value, newer.value.wraps);
  if (!value.has_value()) return {.status = ValueStatus::kNegativeValue};
  const auto denominator = DenominatorGrown(formula, older, newer);
  if (!denominator.has_value()) {
    return {.status = ValueStatus::kNegativeDenominator};
  }
  if (NeedsPerfFreq(formula) && newer.clocks.perf_freq <= 0) {
    return {.status = ValueStatus::kBadFrequency};
  }
  if (NeedsMulti(formula) && !newer.multi.has_value()) {
    return {.status = ValueStatus::kZeroMulti};
  }
  return {.growth = {.value = *value,
                     .denominator = *denominator,
                     .perf_freq = static_cast<uint64_t>(
                         std::max<int64_t>(newer.clocks.perf_freq, 0)),
                     .multi = newer.multi.value}};
}

}  // namespace fleetperf
