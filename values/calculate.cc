#include "values/calculate.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "perflib/counter_type.h"
#include "values/counter_formula.h"
#include "values/formula.h"

namespace fleetperf {
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

// A block's clocks are signed. Shifting both samples by 2^63 preserves their
// order and difference.
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

// Returns the status that follows from the types or the number of samples
// alone.
std::optional<ValueStatus> StatusWithoutNumbers(const CounterFormula& formula,
                                                const PrintedCounter& counter) {
  if (!formula.known_type) return ValueStatus::kUnknownType;
  if (formula.formula == perflib::Formula::kNotDisplayable) {
    return ValueStatus::kNotDisplayable;
  }
  if (counter.older.has_value() && counter.older_type != counter.type) {
    return ValueStatus::kTypeMismatch;
  }
  if (formula.uses_two_samples() && !counter.older.has_value()) {
    return ValueStatus::kNeedTwoSamples;
  }
  return std::nullopt;
}

std::string SizeDefect(absl::string_view name, uint64_t number, uint8_t size) {
  if (size != 4 || number <= std::numeric_limits<uint32_t>::max()) return "";
  return absl::StrCat(name, " is ", number, ", which does not fit in 4 bytes");
}

// Checks the numbers that both samples of a two-sample type must have.
std::string SampleDefect(const CounterFormula& formula,
                         const PrintedCounter& counter,
                         const PrintedSample& sample, absl::string_view name) {
  std::string defect =
      SizeDefect(absl::StrCat(name, ".data"), sample.data, counter.data_size);
  if (!defect.empty()) return defect;
  if (formula.denominator == perflib::Denominator::kNone) return "";
  const std::string time = absl::StrCat(name, ".time");
  if (!sample.time.has_value()) return absl::StrCat(time, " is missing");
  // A clock is not a counter and has no size.
  if (!NeedsDenominatorCounter(formula)) return "";
  return SizeDefect(time, *sample.time, counter.base_size);
}

}  // namespace

std::string DefectOf(const PrintedCounter& counter) {
  const CounterFormula formula = FormulaOfType(counter.type);
  if (StatusWithoutNumbers(formula, counter).has_value()) return "";
  std::string defect;
  if (formula.uses_two_samples()) {
    defect = SampleDefect(formula, counter, *counter.older, "raw0");
  }
  if (defect.empty()) {
    defect = SampleDefect(formula, counter, counter.newer, "raw1");
  }
  if (!defect.empty()) return defect;
  const bool needs_freq = NeedsPerfFreq(formula) ||
                          formula.formula == perflib::Formula::kElapsedTime;
  if (needs_freq && !counter.newer.freq.has_value()) {
    return "raw1.freq is missing";
  }
  if (NeedsMulti(formula) && !counter.newer.multi.has_value()) {
    return "raw1.multi is missing";
  }
  return "";
}

CalculatedValue Calculate(const PrintedCounter& counter) {
  const CounterFormula formula = FormulaOfType(counter.type);
  if (const auto status = StatusWithoutNumbers(formula, counter)) {
    return CalculatedValue::Of(*status);
  }
  const RawSample newer = ToRawSample(counter.newer, counter);
  if (!formula.uses_two_samples()) return CalculateSample(formula, newer);
  GrowthOrStatus growth =
      GrowthBetween(formula, ToRawSample(*counter.older, counter), newer);
  if (growth.status != ValueStatus::kOk) {
    return CalculatedValue::Of(growth.status);
  }
  // A block's frequency is signed; the frequency here may have any value.
  growth.growth.perf_freq = counter.newer.freq.value_or(0);
  return CalculateGrowth(formula, growth.growth);
}

}  // namespace fleetperf
