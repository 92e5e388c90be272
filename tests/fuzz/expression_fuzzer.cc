// Fuzzes expressions. A text is parsed within the limits, or rejected. Written
// again with all parentheses and quotes, an expression has the same parts.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "aggregator/query/expression.h"
#include "perflib/path.h"
#include "tests/fuzz/check.h"

namespace fleetperf::aggregator {
namespace {

// Each node but the last is an operand of one later operation.
void CheckNodes(const Expression& expression) {
  std::vector<int> uses(expression.nodes.size());
  for (size_t i = 0; i < expression.nodes.size(); ++i) {
    const Expression::Node& node = expression.nodes[i];
    if (const auto* operation = std::get_if<Operation>(&node)) {
      FUZZ_CHECK(operation->left < operation->right && operation->right < i);
      ++uses[operation->left];
      ++uses[operation->right];
    } else if (const auto* path = std::get_if<PathOperand>(&node)) {
      FUZZ_CHECK(path->path < expression.paths.size());
    } else {
      FUZZ_CHECK(std::get<ConstantOperand>(node).constant <
                 expression.constants.size());
    }
  }
  FUZZ_CHECK(!uses.empty() && uses.back() == 0);
  uses.pop_back();
  for (const int count : uses) FUZZ_CHECK(count == 1);
}

// Returns the text of a node; std::nullopt if a path has quotes of both kinds.
std::optional<std::string> TextOf(const Expression& expression, size_t node) {
  const Expression::Node& kind = expression.nodes[node];
  if (const auto* constant = std::get_if<ConstantOperand>(&kind)) {
    return expression.constants[constant->constant].text;
  }
  if (const auto* operand = std::get_if<PathOperand>(&kind)) {
    const std::string& path = expression.paths[operand->path];
    const bool has_apostrophe = absl::StrContains(path, '\'');
    if (has_apostrophe && absl::StrContains(path, '"')) return std::nullopt;
    const char* quote = has_apostrophe ? "\"" : "'";
    return absl::StrCat(quote, path, quote);
  }
  const auto& operation = std::get<Operation>(kind);
  const auto left = TextOf(expression, operation.left);
  const auto right = TextOf(expression, operation.right);
  if (!left.has_value() || !right.has_value()) return std::nullopt;
  return absl::StrCat("(", *left, " ", std::string(1, operation.symbol), " ",
                      *right, ")");
}

void CheckExpression(absl::string_view text) {
  const std::vector<std::string> known = {"Known (set)"};
  const auto is_known = [](const perflib::Path& path) {
    return path.counter.text().size() % 3 == 0;
  };
  const auto expression = ParseExpression(text, known, is_known);
  if (!expression.ok()) return;
  CheckNodes(*expression);
  if (expression->is_path()) return;
  FUZZ_CHECK(expression->nodes.size() <= 2 * kMaxOperands - 1);
  const auto rewritten = TextOf(*expression, expression->nodes.size() - 1);
  if (!rewritten.has_value() || rewritten->size() > kMaxExpressionSize) return;
  const auto again = ParseExpression(*rewritten, known, is_known);
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(TextOf(*again, again->nodes.size() - 1) == rewritten);
}

}  // namespace
}  // namespace fleetperf::aggregator

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::aggregator::CheckExpression(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
