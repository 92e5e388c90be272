// Arithmetic between the series of two paths:
// '\Disk(*)\Bytes / \Disk(*)\Reads'.

#ifndef FLEETPERF_AGGREGATOR_QUERY_EXPRESSION_H_
#define FLEETPERF_AGGREGATOR_QUERY_EXPRESSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "aggregator/query/series_result.h"

namespace fleetperf::aggregator {

// Two paths and the operator between them.
struct Expression {
  std::string left;
  char operation = '/';  // + - * /
  std::string right;
  // Whether series of the same instance form pairs. Otherwise one side has no
  // instances, or names one; its series forms a pair with each series of the
  // other side.
  bool by_instance = true;
  // If not `by_instance`: whether the right side has the instances.
  bool right_has_instances = false;
};

// Parses an expression. Returns std::nullopt if `text` is a path, or neither.
// An operator has a space on both sides, a "\" after it, and a path before it,
// which distinguishes operators from characters in names. Returns
// InvalidArgument if the right side is not a path, or if a side does not name
// one counter.
absl::StatusOr<std::optional<Expression>> ParseExpression(
    absl::string_view text, absl::Span<const std::string> known_countersets);

// Combines the values of both sides window by window. The sides must be of one
// machine or grouped by the same properties. The result omits windows that one
// side lacks, has no value where a side has none, and is kZeroDenominator for a
// division by zero. Returns InvalidArgument if values of different units would
// be added or subtracted.
absl::StatusOr<std::vector<SeriesResult>> Combine(
    const Expression& expression, const std::vector<SeriesResult>& left,
    const std::vector<SeriesResult>& right);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_EXPRESSION_H_
