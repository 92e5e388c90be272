// Human-readable formulas.

#ifndef FLEETPERF_VALUES_FORMULA_TEXT_H_
#define FLEETPERF_VALUES_FORMULA_TEXT_H_

#include <optional>
#include <string>

#include "values/counter_formula.h"
#include "values/formula.h"

namespace fleetperf {

// Returns the formula, such as "100 * (1 - dN / dD)", with the variables of
// docs/reference/counters.md. Empty for types that are not displayed.
std::string FormulaText(const CounterFormula& formula);

// Returns the formula with the numbers of a value's samples, whose growth must
// be sound: "100 * (1 - (30 - 20) / (150 - 100))". `older` is only used by
// formulas of two samples.
std::string ArithmeticText(const CounterFormula& formula,
                           const std::optional<RawSample>& older,
                           const RawSample& newer);

// Returns the denominator: "PerfTimeStamp", "PerfTime100NSec", "counter 27", or
// empty.
std::string DenominatorText(const CounterFormula& formula);

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_FORMULA_TEXT_H_
