// The arithmetic of PerfLib's counter types.
//
// Source: Microsoft's "Calculating Counter Values" and [MS-PCQ]. All of it is
// real arithmetic: nothing is truncated, and no product is formed in integers.
// docs/counters.md says where the sources disagree and what is done here.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_FORMULA_H_
#define FLEETPERF_AGGREGATOR_FORMULA_FORMULA_H_

#include <cstdint>
#include <optional>

#include "absl/numeric/int128.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/value.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

// A raw value as it was in the block: 4 or 8 bytes, or none.
struct RawValue {
  uint64_t value = 0;
  uint8_t size = 0;  // 0: there is none
  // Whether 4 bytes that fell by less than half of their range wrapped. Bases
  // do, whatever this says.
  bool wraps = false;

  bool has_value() const { return size != 0; }
};

// What one tick says of a counter and of those its formula needs.
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

// What counters grew by from one sample to another, or in several such pieces
// together, with what the newest sample says beside it.
struct Growth {
  absl::uint128 value = 0;
  absl::uint128 denominator = 0;  // in the units of CounterFormula::denominator
  // Ticks of PerfTimeStamp per second; for elapsed times, of their own clock.
  uint64_t perf_freq = 0;
  uint64_t multi = 0;
};

// Adds the growth of a newer piece to the sum of older ones. Where the
// frequency of PerfTimeStamp changed between them, older ticks become newer
// ones.
void AddGrowth(const CounterFormula& formula, const Growth& piece, Growth* sum);

// The value of a formula that uses two samples; or of a raw fraction, whose
// counters' own values are the growth. Growth of 0 in the denominator is
// kZeroDenominator, not a division.
CalculatedValue CalculateGrowth(const CounterFormula& formula,
                                const Growth& growth);

// The value of a formula that uses one sample.
CalculatedValue CalculateSample(const CounterFormula& formula,
                                const RawSample& sample);

// The sum of the values of `count` samples of a formula that uses one, from the
// sums of what their counters are; of raw fractions, as if their base were
// always the same.
CalculatedValue CalculateSampleSum(const CounterFormula& formula,
                                   const Growth& sum, uint64_t count);

// The growth from `older` to `newer`, which are of one life, or the status that
// says what is wrong with it.
struct GrowthOrStatus {
  Growth growth;
  ValueStatus status = ValueStatus::kOk;
};
GrowthOrStatus GrowthBetween(const CounterFormula& formula,
                             const RawSample& older, const RawSample& newer);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_FORMULA_H_
