#include "aggregator/query/expression.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "perflib/path.h"

namespace fleetperf::aggregator {
namespace {

using perflib::Path;

constexpr absl::string_view kOperators = "+-*/";
constexpr size_t kOperatorSize = 3;  // with the spaces

// Returns the position of the operator; std::nullopt if none exists.
std::optional<size_t> FindOperator(
    absl::string_view text, absl::Span<const std::string> known_countersets) {
  for (size_t i = 0; i + kOperatorSize < text.size(); ++i) {
    if (text[i] == ' ' && absl::StrContains(kOperators, text[i + 1]) &&
        text[i + 2] == ' ' && text[i + 3] == '\\' &&
        perflib::ParsePath(text.substr(0, i), known_countersets).ok()) {
      return i;
    }
  }
  return std::nullopt;
}

absl::Status CheckSide(absl::string_view text, const Path& path) {
  if (!path.counterset.has_wildcards() && !path.counter.has_wildcards()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(text, ": beside an operator, a path must name one counter"));
}

bool IsOfOneInstance(const Path& path) {
  return !path.instance.has_value() || !path.instance->has_wildcards();
}

// The key by which series of both sides form pairs.
using Key =
    std::tuple<std::string, std::vector<std::string>, std::string, uint32_t>;

Key KeyOf(const Expression& expression, const v1::Series& series) {
  // Sorted, because a protobuf map has no order.
  std::vector<std::string> labels;
  for (const auto& [name, value] : series.labels()) {
    labels.push_back(absl::StrCat(name, "=", value));
  }
  std::sort(labels.begin(), labels.end());
  if (!expression.by_instance) {
    return {series.machine(), std::move(labels), "", 0};
  }
  return {series.machine(), std::move(labels),
          absl::AsciiStrToLower(series.instance()), series.instance_index()};
}

// Returns the unit of a quotient: "B/s" by "1/s" is "B", "B" by "s" is "B/s". A
// unit by itself yields a plain number.
std::string QuotientUnit(absl::string_view left, absl::string_view right) {
  if (absl::EndsWith(left, "/s") && absl::EndsWith(right, "/s")) {
    left.remove_suffix(2);
    right.remove_suffix(2);
  }
  if (left == right) return "";
  if (right.empty() || right == "1") return std::string(left);
  return absl::StrCat(left.empty() ? "1" : left, "/",
                      absl::StrContains(right, '/')
                          ? absl::StrCat("(", right, ")")
                          : std::string(right));
}

std::string ProductUnit(absl::string_view left, absl::string_view right) {
  if (left.empty()) return std::string(right);
  if (right.empty()) return std::string(left);
  return absl::StrCat(left, "*", right);
}

absl::StatusOr<std::string> UnitOf(char operation, const v1::Series& left,
                                   const v1::Series& right) {
  if (operation == '/') return QuotientUnit(left.unit(), right.unit());
  if (operation == '*') return ProductUnit(left.unit(), right.unit());
  if (left.unit() == right.unit()) return left.unit();
  const auto name = [](const std::string& unit) {
    return unit.empty() ? "plain numbers" : unit;
  };
  return absl::InvalidArgumentError(absl::StrCat(
      left.path(), " ", std::string(1, operation), " ", right.path(),
      ": the values are ", name(left.unit()), " and ", name(right.unit()),
      "; only values of one unit can be added or subtracted"));
}

CalculatedValue Calculate(char operation, const CalculatedValue& left,
                          const CalculatedValue& right) {
  if (!left.ok()) return left;
  if (!right.ok()) return right;
  CalculatedValue result = left;  // includes the cause
  if (result.cause == GapCause::kNone) result.cause = right.cause;
  switch (operation) {
    case '+':
      result.value += right.value;
      break;
    case '-':
      result.value -= right.value;
      break;
    case '*':
      result.value *= right.value;
      break;
    default:
      if (right.value == 0) {
        return CalculatedValue::Of(ValueStatus::kZeroDenominator);
      }
      result.value /= right.value;
  }
  if (!std::isfinite(result.value)) {
    return CalculatedValue::Of(ValueStatus::kNotFinite);
  }
  return result;
}

WindowValue Calculate(char operation, const WindowValue& left,
                      const WindowValue& right) {
  return {.result = Calculate(operation, left.result, right.result),
          .breaks = left.breaks + right.breaks,
          .coverage = std::min(left.coverage, right.coverage),
          .presence = std::min(left.presence, right.presence)};
}

// Combines the windows that both sides have.
std::vector<Point> Calculate(char operation, const std::vector<Point>& left,
                             const std::vector<Point>& right) {
  std::vector<Point> points;
  auto next = right.begin();
  for (const Point& point : left) {
    while (next != right.end() && next->time < point.time) ++next;
    if (next == right.end()) break;
    if (next->time != point.time) continue;
    points.push_back({point.time,
                      Calculate(operation, point.value, next->value),
                      point.is_partial});
  }
  return points;
}

double PresenceOf(int64_t there, int64_t known) {
  return known > 0 ? static_cast<double>(there) / static_cast<double>(known)
                   : 1;
}

// Sets the presence of both series together: the time of the tick intervals in
// which both were there, divided by the time of the intervals that are known
// for both.
void SetPresence(const SeriesResult& left, const SeriesResult& right,
                 SeriesResult* result) {
  if (left.intervals == nullptr || right.intervals == nullptr) return;
  const IntervalSet there = left.intervals->there.And(right.intervals->there);
  const IntervalSet known = left.intervals->known.And(right.intervals->known);
  for (Point& point : result->points) {
    if (!point.value.result.ok()) continue;
    const int64_t window = left.intervals->grid.WindowOf(point.time);
    point.value.presence =
        PresenceOf(there.LengthIn(window), known.LengthIn(window));
  }
  if (result->total.result.ok()) {
    result->total.presence = PresenceOf(there.Length(), known.Length());
  }
}

absl::StatusOr<SeriesResult> Combine(const Expression& expression,
                                     const SeriesResult& left,
                                     const SeriesResult& right) {
  const char operation = expression.operation;
  SeriesResult result;
  result.series = expression.right_has_instances ? right.series : left.series;
  v1::Series& series = result.series;
  const auto join = [&](const std::string& a, const std::string& b) {
    return absl::StrCat(a, " ", std::string(1, operation), " ", b);
  };
  series.set_path(join(left.series.path(), right.series.path()));
  series.set_counter(join(left.series.counter(), right.series.counter()));
  ASSIGN_OR_RETURN(*series.mutable_unit(),
                   UnitOf(operation, left.series, right.series));
  series.set_type(perflib::kPerfCounterLargeRawcount);  // a plain number
  series.clear_attrib();
  series.clear_default_scale();
  result.points = Calculate(operation, left.points, right.points);
  result.total = Calculate(operation, left.total, right.total);
  result.is_weighted = left.is_weighted && right.is_weighted;
  result.stopped = left.stopped;
  if (right.stopped.has_value()) {
    result.stopped =
        std::min(*right.stopped, left.stopped.value_or(*right.stopped));
  }
  SetPresence(left, right, &result);
  return result;
}

}  // namespace

absl::StatusOr<std::optional<Expression>> ParseExpression(
    absl::string_view text, absl::Span<const std::string> known_countersets) {
  const auto position = FindOperator(text, known_countersets);
  if (!position.has_value()) return std::nullopt;
  Expression expression{
      .left = std::string(text.substr(0, *position)),
      .operation = text[*position + 1],
      .right = std::string(text.substr(*position + kOperatorSize))};
  const absl::StatusOr<Path> left =
      perflib::ParsePath(expression.left, known_countersets);
  const absl::StatusOr<Path> right =
      perflib::ParsePath(expression.right, known_countersets);
  if (!right.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(expression.right, ": ", right.status().message()));
  }
  if (FindOperator(expression.right, known_countersets).has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, ": an expression can have only one operator"));
  }
  RETURN_IF_ERROR(CheckSide(expression.left, *left));
  RETURN_IF_ERROR(CheckSide(expression.right, *right));
  const bool left_is_one = IsOfOneInstance(*left);
  const bool right_is_one = IsOfOneInstance(*right);
  expression.by_instance = left_is_one == right_is_one &&
                           (!left_is_one || left->instance == right->instance);
  expression.right_has_instances = left_is_one && !right_is_one;
  return expression;
}

absl::StatusOr<std::vector<SeriesResult>> Combine(
    const Expression& expression, const std::vector<SeriesResult>& left,
    const std::vector<SeriesResult>& right) {
  std::multimap<Key, const SeriesResult*> right_by_key;
  for (const SeriesResult& result : right) {
    right_by_key.emplace(KeyOf(expression, result.series), &result);
  }
  std::vector<SeriesResult> results;
  for (const SeriesResult& result : left) {
    const auto [begin, end] =
        right_by_key.equal_range(KeyOf(expression, result.series));
    for (auto other = begin; other != end; ++other) {
      ASSIGN_OR_RETURN(SeriesResult combined,
                       Combine(expression, result, *other->second));
      if (!combined.points.empty()) results.push_back(std::move(combined));
    }
  }
  return results;
}

}  // namespace fleetperf::aggregator
