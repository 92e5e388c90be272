// The grammar of the texts that a query is asked for: a path, or arithmetic
// with paths and numbers.
//
//   expression = term { (" + " | " - ") term }
//   term       = operand { (" * " | " / ") operand }
//   operand    = number | path | "'" path "'" | "(" expression ")"
//
// docs/reference/query-rules.md says where a path without quotes ends.

#ifndef FLEETPERF_AGGREGATOR_QUERY_EXPRESSION_H_
#define FLEETPERF_AGGREGATOR_QUERY_EXPRESSION_H_

#include <cstddef>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "aggregator/samples/directory.h"
#include "perflib/path.h"

namespace fleetperf::aggregator {

// Limits of one text. They bound the work for a text from outside.
constexpr size_t kMaxExpressionSize = 4096;  // in bytes
constexpr size_t kMaxOperands = 16;          // paths and numbers
constexpr size_t kMaxParentheses = 16;       // open at a time

struct Constant {
  double value = 0;
  std::string text;  // as written
};

struct ConstantOperand {
  size_t constant = 0;  // its number in Expression::constants
};

struct PathOperand {
  size_t path = 0;  // its number in Expression::paths
};

struct Operation {
  char symbol = '/';  // + - * /
  // The numbers of the operands in Expression::nodes, less than that of the
  // operation. Each node is an operand of at most one operation.
  size_t left = 0;
  size_t right = 0;
  // Whether series of the same instance form pairs. Otherwise, all series of a
  // machine do.
  bool by_instance = true;
  // Whether results are those of the instances of the right side. It is set if
  // only the left side is fixed to single instances.
  bool takes_right = false;
  // Whether the text of an operand needs parentheses.
  bool wraps_left = false;
  bool wraps_right = false;
};

struct Expression {
  using Node = std::variant<ConstantOperand, PathOperand, Operation>;

  std::string text;
  std::vector<std::string> paths;  // each once
  std::vector<Constant> constants;
  // In the order of their evaluation: the last node is the result.
  std::vector<Node> nodes;

  // Whether this is a path without arithmetic.
  bool is_path() const { return nodes.size() == 1; }
};

// Returns whether there is a counter that a path names, on any machine and of
// any instance. Empty: none is known.
using IsKnownCounter = std::function<bool(const perflib::Path& path)>;

// Returns the function of a directory, which must outlive it.
IsKnownCounter CountersOf(const Directory& directory);

// Parses a path or an expression. Returns InvalidArgument, with the position in
// the text, if it is neither, if a path beside an operator does not name one
// counter, if there is no path, or if a limit is exceeded. The text of a path
// is checked only if it is part of an expression. `is_known` tells operators
// from names that contain them.
absl::StatusOr<Expression> ParseExpression(
    absl::string_view text, absl::Span<const std::string> known_countersets,
    const IsKnownCounter& is_known = nullptr);

// Returns the paths that the texts are, without quotes, for requests that do
// not calculate. Returns InvalidArgument if a text is an expression.
absl::StatusOr<std::vector<std::string>> ParsePlainPaths(
    const std::vector<std::string>& texts,
    absl::Span<const std::string> known_countersets,
    const IsKnownCounter& is_known = nullptr);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_EXPRESSION_H_
