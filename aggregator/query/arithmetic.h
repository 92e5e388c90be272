// Calculates expressions with the values of series.

#ifndef FLEETPERF_AGGREGATOR_QUERY_ARITHMETIC_H_
#define FLEETPERF_AGGREGATOR_QUERY_ARITHMETIC_H_

#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/query/expression.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/series_result.h"

namespace fleetperf::aggregator {

// Calculates an expression window by window. `series` has the series of each of
// its paths, of one machine or grouped by the same properties. The result omits
// windows that one operand lacks, has no value where an operand has none, and
// is kZeroDenominator for a division by zero. Returns InvalidArgument if values
// of different units would be added or subtracted, and the errors of the meter,
// which limits the values of each operation.
absl::StatusOr<std::vector<SeriesResult>> Calculate(
    const Expression& expression, std::vector<std::vector<SeriesResult>> series,
    QueryMeter* meter);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_ARITHMETIC_H_
