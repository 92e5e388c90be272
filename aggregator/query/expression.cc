#include "aggregator/query/expression.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"
#include "perflib/path.h"

namespace fleetperf::aggregator {
namespace {

using perflib::Path;

constexpr absl::string_view kQuotes = "'\"";

// The limit of places where a path without quotes could end.
constexpr size_t kMaxPathEnds = 64;

size_t DigitsAt(absl::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
  return end - at;
}

// Returns the size of the number that starts `text`, such as "100", "0.5" or
// "1e-3"; 0 if there is none.
size_t NumberSize(absl::string_view text) {
  size_t size = DigitsAt(text, 0);
  if (size == 0) return 0;
  if (size < text.size() && text[size] == '.') {
    const size_t digits = DigitsAt(text, size + 1);
    if (digits > 0) size += 1 + digits;
  }
  if (size < text.size() && absl::ascii_tolower(text[size]) == 'e') {
    size_t first = size + 1;
    if (first < text.size() && absl::StrContains("+-", text[first])) ++first;
    const size_t digits = DigitsAt(text, first);
    if (digits > 0) size = first + digits;
  }
  return size;
}

// Returns the operator that starts `text`, with a space on both sides.
std::optional<char> OperatorOf(absl::string_view text) {
  if (text.size() < 3 || text[0] != ' ' || text[2] != ' ' ||
      !absl::StrContains("+-*/", text[1])) {
    return std::nullopt;
  }
  return text[1];
}

int PrecedenceOf(char symbol) { return symbol == '*' || symbol == '/' ? 2 : 1; }
constexpr int kNoOperator = 3;

// Whether `text` starts with an operand, and not with a part of a name. In
// parentheses, a number can end at ")", and spaces may precede that.
bool StartsOperand(absl::string_view text, bool in_parentheses) {
  while (absl::ConsumePrefix(&text, "(")) {
    text = absl::StripLeadingAsciiWhitespace(text);
    in_parentheses = true;
  }
  const size_t number = NumberSize(text);
  if (number > 0) {
    text.remove_prefix(number);
    return text.empty() || OperatorOf(text).has_value() ||
           (in_parentheses &&
            absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), ")"));
  }
  if (!text.empty() && absl::StrContains(kQuotes, text.front())) {
    text.remove_prefix(1);
  }
  return absl::StartsWith(text, "\\");
}

// The name and index of the instance that a path is fixed to; empty if the path
// has no instance.
using FixedInstance = std::pair<std::string, std::optional<uint32_t>>;

// A parsed part of an expression.
struct Part {
  size_t node = 0;
  // Whether all of its paths are fixed: to no instance, or to a named one.
  bool is_fixed = true;
  std::set<FixedInstance> instances;  // of the fixed paths
};

class ExpressionParser {
 public:
  ExpressionParser(absl::string_view text, absl::Span<const std::string> known,
                   const IsKnownCounter& is_known)
      : text_(text), rest_(text), known_(known), is_known_(is_known) {}

  absl::StatusOr<Expression> Parse() {
    RETURN_IF_ERROR(ParseOperations(PrecedenceOf('+')).status());
    if (!rest_.empty())
      return Expected("an operator with a space on each side");
    if (paths_.empty()) return Error("an expression must contain a path");
    expression_.text = std::string(text_);
    if (expression_.is_path()) return std::move(expression_);
    for (size_t i = 0; i < paths_.size(); ++i) {
      if (paths_[i].counterset.has_wildcards() ||
          paths_[i].counter.has_wildcards()) {
        return absl::InvalidArgumentError(
            absl::StrCat(Excerpt(expression_.paths[i]),
                         ": beside an operator, a path must name one counter"));
      }
    }
    return std::move(expression_);
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(Excerpt(text_), ": ", what));
  }

  absl::Status Expected(absl::string_view what) const {
    const auto characters = std::count_if(
        text_.begin(), text_.end() - static_cast<ptrdiff_t>(rest_.size()),
        [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
    return Error(absl::StrCat("at character ", characters + 1,
                              " of the expression: expected ", what,
                              how_read_));
  }

  void SkipSpaces() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  // Parses operands joined by operators of at least this precedence. Its depth
  // is limited by kMaxParentheses.
  absl::StatusOr<Part> ParseOperations(int least) {
    ASSIGN_OR_RETURN(Part left, ParseOperand());
    while (const std::optional<char> symbol = OperatorOf(rest_)) {
      const int precedence = PrecedenceOf(*symbol);
      if (precedence < least) break;
      rest_.remove_prefix(3);
      ASSIGN_OR_RETURN(const Part right, ParseOperations(precedence + 1));
      left = Join(*symbol, std::move(left), right);
    }
    return left;
  }

  absl::StatusOr<Part> ParseOperand() {
    if (absl::ConsumePrefix(&rest_, "(")) return ParseParentheses();
    if (++operands_ > kMaxOperands) {
      return Error(absl::StrCat("an expression can have at most ", kMaxOperands,
                                " paths and numbers"));
    }
    if (absl::StartsWith(rest_, "\\")) return ParseUnquotedPath();
    if (const size_t size = NumberSize(rest_); size > 0) {
      return ParseNumber(size);
    }
    if (!rest_.empty() && absl::StrContains(kQuotes, rest_.front())) {
      return ParseQuotedPath();
    }
    return Expected("a path, a number or \"(\"");
  }

  absl::StatusOr<Part> ParseParentheses() {
    if (++open_ > kMaxParentheses) {
      return Error(absl::StrCat("an expression can have at most ",
                                kMaxParentheses,
                                " parentheses inside each other"));
    }
    SkipSpaces();
    ASSIGN_OR_RETURN(Part part, ParseOperations(PrecedenceOf('+')));
    SkipSpaces();
    if (!absl::ConsumePrefix(&rest_, ")")) {
      return Expected("\")\", or an operator with a space on each side");
    }
    --open_;
    return part;
  }

  absl::StatusOr<Part> ParseNumber(size_t size) {
    Constant constant{.text = std::string(rest_.substr(0, size))};
    if (!absl::SimpleAtod(constant.text, &constant.value) ||
        !std::isfinite(constant.value)) {
      return Expected("a smaller number");
    }
    rest_.remove_prefix(size);
    expression_.constants.push_back(std::move(constant));
    return Part{.node = Add(ConstantOperand{expression_.constants.size() - 1})};
  }

  absl::StatusOr<Part> ParseQuotedPath() {
    const size_t end = rest_.find(rest_.front(), 1);
    if (end == absl::string_view::npos) {
      return Expected("a quote at the end of the path");
    }
    const absl::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return AddPath(text);
  }

  absl::StatusOr<Part> ParseUnquotedPath() {
    ASSIGN_OR_RETURN(const size_t size, PathSize());
    absl::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    if (open_ > 0) text = absl::StripTrailingAsciiWhitespace(text);
    return AddPath(text);
  }

  // Returns the size of the path without quotes that starts `rest_`. The path
  // can end before an operator and an operand, before a ")" without a "(" in
  // the path, and at the end of the text. It ends at the first of these places
  // before which it names a known counter. If there is none, it ends at the
  // first operator after a known counter, which is an error; otherwise at the
  // first place before which its text is a path. Returns InvalidArgument if
  // there are too many places, because each costs as much as a path.
  absl::StatusOr<size_t> PathSize() {
    size_t open = 0;
    size_t places = 0;
    std::optional<size_t> first_path;
    std::optional<size_t> first_known;
    for (size_t i = 1; i < rest_.size(); ++i) {
      bool can_end = false;
      bool may_be_known = false;
      if (rest_[i] == '(') {
        ++open;
      } else if (rest_[i] == ')' && open > 0) {
        --open;
      } else if (rest_[i] == ')') {
        can_end = open_ > 0;
      } else if (OperatorOf(rest_.substr(i)).has_value()) {
        can_end = StartsOperand(rest_.substr(i + 3), open_ > 0);
        may_be_known = is_known_ && !first_known.has_value();
      }
      if (!can_end && !may_be_known) continue;
      if (++places > kMaxPathEnds) {
        return Error(
            "too many operators and parentheses in a path without quotes; "
            "write it in quotes");
      }
      const absl::string_view text = rest_.substr(0, i);
      const bool is_known = NamesKnownCounter(text);
      if (is_known && can_end) return i;
      if (is_known) first_known = i;
      if (!can_end || first_path.has_value() || !PathOf(text).ok()) continue;
      if (!is_known_) return i;
      first_path = i;
    }
    if (NamesKnownCounter(rest_)) return rest_.size();
    if (!first_known.has_value()) return first_path.value_or(rest_.size());
    how_read_ = absl::StrCat(
        "; the path ends there because ",
        Excerpt(rest_.substr(0, *first_known)),
        " is a counter; write a path with a longer name in quotes");
    return *first_known;
  }

  // Parses a path without quotes. Spaces before a ")" are not part of it.
  absl::StatusOr<Path> PathOf(absl::string_view text) const {
    if (open_ > 0) text = absl::StripTrailingAsciiWhitespace(text);
    return perflib::ParsePath(text, known_);
  }

  bool NamesKnownCounter(absl::string_view text) const {
    if (!is_known_) return false;
    const auto path = PathOf(text);
    return path.ok() && is_known_(*path);
  }

  absl::StatusOr<Part> AddPath(absl::string_view text) {
    absl::StatusOr<Path> path = perflib::ParsePath(text, known_);
    if (!path.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Excerpt(text), ": ", path.status().message()));
    }
    Part part = {.node = Add(PathOperand{NumberOf(text)})};
    if (!path->instance.has_value()) {
      part.instances.insert({"", std::nullopt});
    } else if (!path->instance->has_wildcards()) {
      part.instances.insert({absl::AsciiStrToLower(path->instance->literal()),
                             path->instance_index});
    } else {
      part.is_fixed = false;
    }
    if (expression_.paths.size() > paths_.size()) {
      paths_.push_back(*std::move(path));
    }
    return part;
  }

  // Returns the number of a path in `expression_.paths`, and adds a new one.
  size_t NumberOf(absl::string_view text) {
    std::vector<std::string>& paths = expression_.paths;
    const auto found = std::find(paths.begin(), paths.end(), text);
    const auto number = static_cast<size_t>(found - paths.begin());
    if (found == paths.end()) paths.emplace_back(text);
    return number;
  }

  Part Join(char symbol, Part left, const Part& right) {
    const bool is_fixed = left.is_fixed && right.is_fixed;
    Operation operation{
        .symbol = symbol, .left = left.node, .right = right.node};
    operation.takes_right = left.is_fixed && !right.is_fixed;
    operation.wraps_left = PrecedenceIn(left) < PrecedenceOf(symbol);
    operation.wraps_right = PrecedenceIn(right) <= PrecedenceOf(symbol);
    left.instances.insert(right.instances.begin(), right.instances.end());
    operation.by_instance =
        is_fixed ? left.instances.size() <= 1 : left.is_fixed == right.is_fixed;
    return {.node = Add(operation),
            .is_fixed = is_fixed,
            .instances = std::move(left.instances)};
  }

  // Returns the precedence of the operator of a part.
  int PrecedenceIn(const Part& part) const {
    const auto* operation =
        std::get_if<Operation>(&expression_.nodes[part.node]);
    return operation == nullptr ? kNoOperator : PrecedenceOf(operation->symbol);
  }

  size_t Add(Expression::Node node) {
    expression_.nodes.push_back(node);
    return expression_.nodes.size() - 1;
  }

  const absl::string_view text_;
  absl::string_view rest_;
  const absl::Span<const std::string> known_;
  const IsKnownCounter& is_known_;
  std::string how_read_;  // "; ...": why a path ended where it did
  Expression expression_;
  std::vector<Path> paths_;  // of expression_.paths
  size_t operands_ = 0;
  size_t open_ = 0;  // parentheses
};

}  // namespace

IsKnownCounter CountersOf(const Directory& directory) {
  return [&directory](const Path& path) { return directory.HasCounter(path); };
}

absl::StatusOr<Expression> ParseExpression(
    absl::string_view text, absl::Span<const std::string> known_countersets,
    const IsKnownCounter& is_known) {
  if (text.size() > kMaxExpressionSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a path or expression of ", text.size(),
                     " bytes is longer than ", kMaxExpressionSize));
  }
  const bool is_expression =
      !text.empty() && (absl::ascii_isdigit(text.front()) ||
                        absl::StrContains("(\\'\"", text.front()));
  if (!is_expression) {
    // Neither: the parser of paths explains why.
    return Expression{.text = std::string(text),
                      .paths = {std::string(text)},
                      .nodes = {PathOperand{}}};
  }
  return ExpressionParser(text, known_countersets, is_known).Parse();
}

absl::StatusOr<std::vector<std::string>> ParsePlainPaths(
    const std::vector<std::string>& texts,
    absl::Span<const std::string> known_countersets,
    const IsKnownCounter& is_known) {
  std::vector<std::string> paths;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(Expression expression,
                     ParseExpression(text, known_countersets, is_known));
    if (!expression.is_path()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Excerpt(text),
                       ": arithmetic is possible only in queries of values "
                       "(query, plot, check); if this is a counter's name, "
                       "write the path in quotes"));
    }
    paths.push_back(std::move(expression.paths.front()));
  }
  return paths;
}

}  // namespace fleetperf::aggregator
