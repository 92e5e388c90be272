// The arithmetic of PerfLib's counter types.
//
// Sources: Microsoft's "Calculating Counter Values" and [MS-PCQ]. All
// arithmetic is in real numbers: nothing is truncated, and no product is formed
// in integers. docs/reference/counters.md documents where the sources disagree,
// and which one is followed.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_FORMULA_H_
#define FLEETPERF_AGGREGATOR_FORMULA_FORMULA_H_

#include <cstdint>
#include <optional>

#include "absl/numeric/int128.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/value.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

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

// Adds the growth of a newer piece to the sum of older ones. If the frequency
// of PerfTimeStamp changed between them, the older ticks are converted.
void AddGrowth(const CounterFormula& formula, const Growth& piece, Growth* sum);

// Returns the value of a formula that uses two samples, or of a raw fraction,
// for which `growth` holds the counters' own values. If the denominator did not
// grow, the result is kZeroDenominator.
CalculatedValue CalculateGrowth(const CounterFormula& formula,
                                const Growth& growth);

// Returns the value of a formula that uses one sample.
CalculatedValue CalculateSample(const CounterFormula& formula,
                                const RawSample& sample);

// Returns the sum of the values of `count` samples of a formula that uses one
// sample, from the sums of their counters. Raw fractions are treated as if
// their base were constant.
CalculatedValue CalculateSampleSum(const CounterFormula& formula,
                                   const Growth& sum, uint64_t count);

// Returns the mean of these values. That of equal raw values is their value.
CalculatedValue CalculateSampleMean(const CounterFormula& formula,
                                    const Growth& sum, uint64_t count);

// The growth from `older` to `newer`, which must be of one life, or the status
// that describes the problem.
struct GrowthOrStatus {
  Growth growth;
  ValueStatus status = ValueStatus::kOk;
};
GrowthOrStatus GrowthBetween(const CounterFormula& formula,
                             const RawSample& older, const RawSample& newer);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_FORMULA_H_
