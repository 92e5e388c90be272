#include "aggregator/formula/formula.h"

#include <algorithm>
#include <cmath>

namespace fleetperf::aggregator {
namespace {

using perflib::Denominator;
using perflib::Formula;

// On x86-64, this type holds every 64-bit integer exactly, so only results are
// rounded.
using Real = long double;

Real ToReal(absl::uint128 value) {
  // The common case, and several times faster.
  if (absl::Uint128High64(value) == 0) {
    return static_cast<Real>(absl::Uint128Low64(value));
  }
  return static_cast<Real>(value);
}

CalculatedValue Result(const CounterFormula& formula, Real value) {
  // Powers of ten are exact; their inverses are not.
  if (formula.scale > 0) value *= std::pow(Real{10}, formula.scale);
  if (formula.scale < 0) value /= std::pow(Real{10}, -formula.scale);
  return CalculatedValue::Of(static_cast<double>(value));
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

// Returns a - b, exactly.
Real Difference(absl::uint128 a, absl::uint128 b) {
  return a >= b ? ToReal(a - b) : -ToReal(b - a);
}

// Returns (m - n / d) * d. Differences of nearly equal numbers are computed
// before rounding.
Real MultiDifference(const Growth& growth) {
  if (absl::Uint128High64(growth.denominator) == 0) {
    return Difference(absl::uint128(growth.multi) * growth.denominator,
                      growth.value);
  }
  return static_cast<Real>(growth.multi) * ToReal(growth.denominator) -
         ToReal(growth.value);
}

// Returns whether the counter itself counts ticks of PerfTimeStamp: the formula
// divides it by such ticks or by the frequency.
bool CountsTicks(const CounterFormula& formula) {
  switch (formula.formula) {
    case Formula::kQueueLength:
    case Formula::kTimer:
    case Formula::kTimerInverse:
    case Formula::kMultiTimerInverse:
      return formula.denominator == Denominator::kPerfTimeStamp;
    case Formula::kAverageTimer:
      return true;
    default:
      return false;
  }
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

void AddGrowth(const CounterFormula& formula, const Growth& piece,
               Growth* sum) {
  const uint64_t freq = sum->perf_freq;
  if (freq != piece.perf_freq && freq > 0 && piece.perf_freq > 0) {
    const auto convert = [&](absl::uint128* ticks) {
      *ticks = *ticks * piece.perf_freq / freq;
    };
    if (CountsTicks(formula)) convert(&sum->value);
    if (formula.denominator == Denominator::kPerfTimeStamp) {
      convert(&sum->denominator);
    }
  }
  sum->value += piece.value;
  sum->denominator += piece.denominator;
  sum->perf_freq = piece.perf_freq;
  sum->multi = piece.multi;
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
  const Real n = ToReal(growth.value);
  const Real d = ToReal(growth.denominator);
  const Real f = static_cast<Real>(growth.perf_freq);
  const Real m = static_cast<Real>(growth.multi);
  switch (formula.formula) {
    case Formula::kDelta:
      return Result(formula, n);
    case Formula::kRate:
      return Result(formula, n * f / d);
    case Formula::kQueueLength:
    case Formula::kAverageBulk:
      return Result(formula, n / d);
    case Formula::kTimer:
    case Formula::kSampleFraction:
    case Formula::kRawFraction:
      return Result(formula, 100 * n / d);
    case Formula::kTimerInverse:
      return Result(formula,
                    100 * Difference(growth.denominator, growth.value) / d);
    case Formula::kMultiTimer:
      return Result(formula, 100 * n * f / (d * m));
    case Formula::kMultiTimer100Ns:
      return Result(formula, 100 * n / (d * m));
    case Formula::kMultiTimerInverse:
      return Result(formula, 100 * MultiDifference(growth) / d);
    case Formula::kAverageTimer:
      return Result(formula, n / f / d);
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
      return Result(formula, static_cast<Real>(n));
    case Formula::kRawFraction:
      if (d == 0) return CalculatedValue::Of(ValueStatus::kZeroDenominator);
      return Result(formula, 100 * static_cast<Real>(n) / static_cast<Real>(d));
    case Formula::kElapsedTime: {
      if (!sample.denominator.has_value()) {
        return CalculatedValue::Of(ValueStatus::kZeroDenominator);
      }
      const uint64_t f = sample.frequency.value;  // 0 if there is none
      if (f == 0) return CalculatedValue::Of(ValueStatus::kBadFrequency);
      if (d < n) return CalculatedValue::Of(ValueStatus::kNegativeValue);
      return Result(formula, static_cast<Real>(d - n) / static_cast<Real>(f));
    }
    default:
      return CalculatedValue::Of(ValueStatus::kNeedTwoSamples);
  }
}

CalculatedValue CalculateSampleSum(const CounterFormula& formula,
                                   const Growth& sum, uint64_t count) {
  switch (formula.formula) {
    case Formula::kRaw:
      return Result(formula, ToReal(sum.value));
    case Formula::kRawFraction: {
      const CalculatedValue value = CalculateGrowth(formula, sum);
      if (!value.ok()) return value;
      return CalculatedValue::Of(value.value * static_cast<double>(count));
    }
    case Formula::kElapsedTime:
      if (sum.perf_freq == 0) {
        return CalculatedValue::Of(ValueStatus::kBadFrequency);
      }
      return Result(formula, Difference(sum.denominator, sum.value) /
                                 static_cast<Real>(sum.perf_freq));
    default:
      return CalculatedValue::Of(ValueStatus::kNeedTwoSamples);
  }
}

CalculatedValue CalculateSampleMean(const CounterFormula& formula,
                                    const Growth& sum, uint64_t count) {
  if (formula.formula == Formula::kRaw) {
    // In integers, because the sum may have more digits than a real number.
    return Result(formula,
                  ToReal(sum.value / count) +
                      ToReal(sum.value % count) / static_cast<Real>(count));
  }
  const CalculatedValue of_all = CalculateSampleSum(formula, sum, count);
  if (!of_all.ok()) return of_all;
  return CalculatedValue::Of(of_all.value / static_cast<double>(count));
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

}  // namespace fleetperf::aggregator
