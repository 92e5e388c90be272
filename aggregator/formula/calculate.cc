#include "aggregator/formula/calculate.h"

#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"
#include "perflib/counter_type.h"

namespace fleetperf::aggregator {
namespace {

CounterFormula FormulaOfType(uint32_t type) {
  CounterFormula formula{.type = type};
  if (const auto* info = perflib::FindCounterType(type)) {
    formula.known_type = true;
    formula.formula = info->formula;
    formula.denominator = info->denominator;
  }
  return formula;
}

// A block's clocks are signed. Moving both samples' by 2^63 keeps their order
// and difference.
int64_t ToClock(std::optional<uint64_t> time) {
  return static_cast<int64_t>(time.value_or(0) - (uint64_t{1} << 63));
}

RawValue ToRawValue(std::optional<uint64_t> value, uint8_t size) {
  return value.has_value() ? RawValue{.value = *value, .size = size}
                           : RawValue{};
}

RawSample ToRawSample(const PrintedSample& printed,
                      const PrintedCounter& counter) {
  const int64_t clock = ToClock(printed.time);
  return {.clocks = {.perf_time_stamp = clock,
                     .perf_time_100nsec = clock,
                     .perf_freq = printed.freq.value_or(0) > 0 ? 1 : 0},
          .value = {.value = printed.data,
                    .size = counter.data_size,
                    .wraps = counter.wraps},
          .denominator = ToRawValue(printed.time, counter.base_size),
          .frequency = ToRawValue(printed.freq, 8),
          .multi = ToRawValue(printed.multi, 8)};
}

}  // namespace

CalculatedValue Calculate(const PrintedCounter& counter) {
  const CounterFormula formula = FormulaOfType(counter.type);
  const RawSample newer = ToRawSample(counter.newer, counter);
  const bool can_be_shown =
      formula.known_type &&
      formula.formula != perflib::Formula::kNotDisplayable;
  if (!can_be_shown) return CalculateSample(formula, newer);
  if (counter.older.has_value() && counter.older_type != counter.type) {
    return CalculatedValue::Of(ValueStatus::kTypeMismatch);
  }
  if (!formula.uses_two_samples() || !counter.older.has_value()) {
    return CalculateSample(formula, newer);
  }
  GrowthOrStatus growth =
      GrowthBetween(formula, ToRawSample(*counter.older, counter), newer);
  if (growth.status != ValueStatus::kOk) {
    return CalculatedValue::Of(growth.status);
  }
  // A block's frequency is signed, too; this one may be any.
  growth.growth.perf_freq = counter.newer.freq.value_or(0);
  return CalculateGrowth(formula, growth.growth);
}

}  // namespace fleetperf::aggregator
