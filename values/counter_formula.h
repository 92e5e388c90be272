// The calculation of a counter's values: its formula, and the other counters
// that the formula uses.

#ifndef FLEETPERF_VALUES_COUNTER_FORMULA_H_
#define FLEETPERF_VALUES_COUNTER_FORMULA_H_

#include <cstdint>
#include <optional>

#include "perflib/counter_type.h"
#include "perflib/registration.h"

namespace fleetperf {

struct CounterFormula {
  uint32_t counter_id = 0;
  uint32_t type = 0;
  bool known_type = false;
  perflib::Formula formula = perflib::Formula::kNotDisplayable;
  perflib::Denominator denominator = perflib::Denominator::kNone;
  // Counters of the same instance, if the formula needs them and the
  // registration names them.
  std::optional<uint32_t> denominator_id;  // the base, or the object's time
  std::optional<uint32_t> frequency_id;    // the object's frequency
  std::optional<uint32_t> multi_id;
  // Displayed values are multiplied by 10^scale. The magnitude of `scale` is at
  // most kMaxScale.
  int32_t scale = 0;

  bool uses_two_samples() const { return perflib::UsesTwoSamples(formula); }
};

// Returns whether the value is a ratio of two counters. Several such values are
// combined as the ratio of the two sums.
inline bool IsRatio(const CounterFormula& formula) {
  return formula.denominator == perflib::Denominator::kBaseCounter;
}

// Returns whether D is a counter's value and not a clock of the block.
bool NeedsDenominatorCounter(const CounterFormula& formula);
// Returns whether F is the frequency of PerfTimeStamp.
bool NeedsPerfFreq(const CounterFormula& formula);
// Returns whether D and F are the block's clocks, because the registration of
// an elapsed time names neither the object's time nor its frequency.
bool UsesBlockClocks(const CounterFormula& formula);
// Returns whether the formula uses M.
bool NeedsMulti(const CounterFormula& formula);

CounterFormula FormulaOf(const perflib::CountersetRegistration& registration,
                         const perflib::CounterRegistration& counter);

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_COUNTER_FORMULA_H_
