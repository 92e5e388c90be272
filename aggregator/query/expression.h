// Arithmetic between the series of two paths: '\Disk(*)\Bytes /
// \Disk(*)\Reads'.

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
  // Whether series of both sides go together if they are of the same instance.
  // Otherwise one side has no instances or names one, which goes with each
  // series of the other.
  bool by_instance = true;
  // Whether it is the right side that has the instances then.
  bool right_has_instances = false;
};

// The expression that `text` is; nothing if it is a path, or neither. An
// operator has a space on both sides and a "\" behind it, and the text before
// it is a path, so that those in names are not taken for one. An
// InvalidArgument error if the right side is no path, or if a side does not
// name its counter.
absl::StatusOr<std::optional<Expression>> ParseExpression(
    absl::string_view text, absl::Span<const std::string> known_countersets);

// What comes of the values of both sides, which are of one machine or were
// grouped by the same things, window by window: a window that one side does not
// have is left out, one in which a side has no value has none, and a division
// by zero is kZeroDenominator. An InvalidArgument error if values of different
// units would be added or subtracted.
absl::StatusOr<std::vector<SeriesResult>> Combine(
    const Expression& expression, const std::vector<SeriesResult>& left,
    const std::vector<SeriesResult>& right);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_EXPRESSION_H_
