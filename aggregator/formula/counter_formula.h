// What a counter of a counterset needs to become a calculated value: its
// formula and the other counters that take part in it.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_COUNTER_FORMULA_H_
#define FLEETPERF_AGGREGATOR_FORMULA_COUNTER_FORMULA_H_

#include <cstdint>
#include <optional>

#include "perflib/counter_type.h"
#include "perflib/registration.h"

namespace fleetperf::aggregator {

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
  // What people see is the value times 10^scale. At most kMaxScale, either way.
  int32_t scale = 0;

  bool uses_two_samples() const { return perflib::UsesTwoSamples(formula); }
};

// Whether the value is a ratio of two counters, of which several are combined
// as the sum of the one by the sum of the other.
inline bool IsRatio(const CounterFormula& formula) {
  return formula.denominator == perflib::Denominator::kBaseCounter;
}

// Whether D is a counter's value and not a clock of the block.
bool NeedsDenominatorCounter(const CounterFormula& formula);
// Whether F is the frequency of PerfTimeStamp.
bool NeedsPerfFreq(const CounterFormula& formula);
// Whether there is an M.
bool NeedsMulti(const CounterFormula& formula);

CounterFormula FormulaOf(const perflib::CountersetRegistration& registration,
                         const perflib::CounterRegistration& counter);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_COUNTER_FORMULA_H_
