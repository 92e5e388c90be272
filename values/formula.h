// The arithmetic of PerfLib's counter types.
//
// Sources: Microsoft's "Calculating Counter Values" and [MS-PCQ].
// docs/reference/counters.md documents where the sources disagree, and which
// one is followed. A value is the quotient of two exact integers, rounded once
// to the nearest double.

#ifndef FLEETPERF_VALUES_FORMULA_H_
#define FLEETPERF_VALUES_FORMULA_H_

#include <cstdint>
#include <optional>

#include "absl/numeric/int128.h"
#include "perflib/clocks.h"
#include "values/counter_formula.h"
#include "values/value.h"

namespace fleetperf {

// A raw value as in the block: 4 or 8 bytes, or missing.
struct RawValue {
  uint64_t value = 0;
  uint8_t size = 0;  // 0: missing
  // Whether a 4-byte value that fell by more than half of its range wrapped.
  // Bases always wrap, regardless of this field.
  bool wraps = false;

  bool has_value() const { return size != 0; }
};

// The values of a counter, and of the counters its formula needs, at one tick.
struct RawSample {
  perflib::Clocks clocks;
  uint64_t life = 0;  // Instance::life
  RawValue value;
  RawValue denominator;  // of CounterFormula::denominator_id
  RawValue frequency;    // of CounterFormula::frequency_id
  RawValue multi;        // of CounterFormula::multi_id
};

inline absl::Time TimeOf(const RawSample& sample) {
  return perflib::TimeOf(sample.clocks);
}

// The growth of counters from one sample to another, or the sum over several
// such pieces. The other fields are those of the newest sample.
struct Growth {
  absl::uint128 value = 0;
  absl::uint128 denominator = 0;  // in the units of CounterFormula::denominator
  // Ticks of PerfTimeStamp per second; for elapsed times, ticks of their own
  // clock.
  uint64_t perf_freq = 0;
  uint64_t multi = 0;
};

// Adds the growth of a newer piece, or the counters of a newer sample
// (GrowthOfSample), to the sum of older ones. If the frequencies differ, the
// ticks of both are converted to their least common multiple, so that the sum
// is exact and does not depend on the order: 1 tick at 10 MHz and 1 tick at 15
// MHz are 3 + 2 ticks at 30 MHz. A multiple above 2^62 is not used: the older
// ticks are converted to the newer frequency, and truncated.
inline void AddGrowth(const CounterFormula& formula, const Growth& piece,
                      Growth* sum);

// Returns the growth with its ticks converted to a frequency: exactly if the
// frequency is a multiple of the growth's, otherwise truncated. 0 is not a
// frequency: then the growth stays as it is.
Growth InFrequency(const CounterFormula& formula, Growth growth, uint64_t freq);

// AddGrowth for frequencies that differ and are not 0.
void AddConverted(const CounterFormula& formula, const Growth& piece,
                  Growth* sum);

inline void AddGrowth(const CounterFormula& formula, const Growth& piece,
                      Growth* sum) {
  if (sum->perf_freq != piece.perf_freq && sum->perf_freq > 0 &&
      piece.perf_freq > 0) {
    return AddConverted(formula, piece, sum);
  }
  sum->value += piece.value;
  sum->denominator += piece.denominator;
  sum->perf_freq = piece.perf_freq;
  sum->multi = piece.multi;
}

// Returns the value of a formula that uses two samples, or of a raw fraction,
// for which `growth` holds the counters' own values. If the denominator did not
// grow, the result is kZeroDenominator.
CalculatedValue CalculateGrowth(const CounterFormula& formula,
                                const Growth& growth);

// Returns the value of a formula that uses one sample.
CalculatedValue CalculateSample(const CounterFormula& formula,
                                const RawSample& sample);

// Returns the sum of the values of several samples of a formula that uses one
// sample and is not a raw fraction, divided by `divisor`: the mean if it is the
// number of samples. `sum` has the sums of their counters.
CalculatedValue CalculateSampleSum(const CounterFormula& formula,
                                   const Growth& sum, uint64_t divisor);

// The growth from `older` to `newer`, which must be of one life, or the status
// that describes the problem.
struct GrowthOrStatus {
  Growth growth;
  ValueStatus status = ValueStatus::kOk;
};
GrowthOrStatus GrowthBetween(const CounterFormula& formula,
                             const RawSample& older, const RawSample& newer);

// Whether a value fell without wrapping.
bool Fell(const RawValue& older, const RawValue& newer, bool may_wrap);

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_FORMULA_H_
