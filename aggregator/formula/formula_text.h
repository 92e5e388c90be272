// Formulas as people read them.

#ifndef FLEETPERF_AGGREGATOR_FORMULA_FORMULA_TEXT_H_
#define FLEETPERF_AGGREGATOR_FORMULA_FORMULA_TEXT_H_

#include <optional>
#include <string>

#include "aggregator/formula/counter_formula.h"
#include "aggregator/formula/formula.h"

namespace fleetperf::aggregator {

// "100 * (1 - dN / dD)", in the letters of docs/counters.md; empty for types
// that are not shown.
std::string FormulaText(const CounterFormula& formula);

// The same with the numbers of a value's samples, whose growth is sound:
// "100 * (1 - (30 - 20) / (150 - 100))". `older` is used by formulas of two
// samples alone.
std::string ArithmeticText(const CounterFormula& formula,
                           const std::optional<RawSample>& older,
                           const RawSample& newer);

// What the counter is measured against: "PerfTimeStamp", "PerfTime100NSec",
// "counter 27", or empty.
std::string DenominatorText(const CounterFormula& formula);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_FORMULA_FORMULA_TEXT_H_
