#include "aggregator/query/arithmetic.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "values/quotient.h"

namespace fleetperf::aggregator {
namespace {

// The key by which series of both sides form pairs.
using Key =
    std::tuple<std::string, std::vector<std::string>, std::string, uint32_t>;

Key KeyOf(const Operation& operation, const v1::Series& series) {
  // Sorted, because a protobuf map has no order.
  std::vector<std::string> labels;
  for (const auto& [name, value] : series.labels()) {
    labels.push_back(absl::StrCat(name, "=", value));
  }
  std::sort(labels.begin(), labels.end());
  if (!operation.by_instance) {
    return {series.machine(), std::move(labels), "", 0};
  }
  return {series.machine(), std::move(labels),
          absl::AsciiStrToLower(series.instance()), series.instance_index()};
}

// Returns the unit of a quotient: "B/s" by "1/s" is "B", "B" by "s" is "B/s". A
// unit by itself yields a plain number, a plain number by "1/s" is "s".
std::string QuotientUnit(absl::string_view left, absl::string_view right) {
  if (left.empty() && right == "1/s") return "s";
  if (absl::EndsWith(left, "/s") && absl::EndsWith(right, "/s")) {
    left.remove_suffix(2);
    right.remove_suffix(2);
  }
  if (left == right) return "";
  if (right.empty() || right == "1") return std::string(left);
  return absl::StrCat(left.empty() ? "1" : left, "/",
                      right.find_first_of("/*") != absl::string_view::npos
                          ? absl::StrCat("(", right, ")")
                          : std::string(right));
}

std::string ProductUnit(absl::string_view left, absl::string_view right) {
  if (left.empty()) return std::string(right);
  if (right.empty()) return std::string(left);
  return absl::StrCat(left, "*", right);
}

// `path` is that of the result.
absl::StatusOr<std::string> UnitOf(char symbol, const std::string& left,
                                   const std::string& right,
                                   const std::string& path) {
  if (symbol == '/') return QuotientUnit(left, right);
  if (symbol == '*') return ProductUnit(left, right);
  if (left == right) return left;
  const auto name = [](const std::string& unit) {
    return unit.empty() ? "plain numbers" : unit;
  };
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the values are ", name(left), " and ", name(right),
                   "; only values of one unit can be added or subtracted"));
}

bool IsSum(char symbol) { return symbol == '+' || symbol == '-'; }

ExactSum SumOf(char symbol, ExactSum left, const ExactSum& right) {
  if (symbol == '+') {
    left.Add(right);
  } else {
    left.Subtract(right);
  }
  return left;
}

// `sum` is that of both numbers, if the operation is a sum.
CalculatedValue ValueOf(char symbol, const CalculatedValue& left,
                        const CalculatedValue& right, const ExactSum& sum) {
  if (!left.ok()) return left;
  if (!right.ok()) return right;
  double number = 0;
  if (IsSum(symbol)) {
    number = sum.Total();
  } else if (symbol == '*') {
    number = left.value * right.value;
  } else if (right.value == 0) {
    return CalculatedValue::Of(ValueStatus::kZeroDenominator);
  } else {
    number = left.value / right.value;
  }
  CalculatedValue result = CalculatedValue::Of(number);
  if (result.ok()) {
    result.cause = left.cause != GapCause::kNone ? left.cause : right.cause;
  }
  return result;
}

// A value of a series: at a point, or the total.
struct OperandValue {
  OperandValue(const SeriesResult& result, size_t number)
      : value(number < result.points.size() ? result.points[number].value
                                            : result.total) {
    if (result.sums.empty()) {
      sum.Add(value.result.value);
    } else {
      sum = result.sums[number];
    }
  }

  const WindowValue& value;
  ExactSum sum;
};

// If the operation is a sum, adds it to `sums`.
WindowValue ValueOf(char symbol, const OperandValue& left,
                    const OperandValue& right, std::vector<ExactSum>* sums) {
  ExactSum sum;
  if (IsSum(symbol)) {
    sum = SumOf(symbol, left.sum, right.sum);
    sums->push_back(sum);
  }
  return {.result = ValueOf(symbol, left.value.result, right.value.result, sum),
          .breaks = left.value.breaks + right.value.breaks,
          .coverage = std::min(left.value.coverage, right.value.coverage),
          .presence = std::min(left.value.presence, right.value.presence)};
}

// Sets the values of the result: the windows that both sides have, and the
// total.
void SetValues(char symbol, const SeriesResult& left, const SeriesResult& right,
               SeriesResult* result) {
  const auto value_at = [&](size_t at_left, size_t at_right) {
    return ValueOf(symbol, OperandValue(left, at_left),
                   OperandValue(right, at_right), &result->sums);
  };
  size_t next = 0;
  for (size_t i = 0; i < left.points.size(); ++i) {
    const Point& point = left.points[i];
    while (next < right.points.size() && right.points[next].time < point.time) {
      ++next;
    }
    if (next == right.points.size()) break;
    if (right.points[next].time != point.time) continue;
    result->points.push_back({point.time, value_at(i, next), point.is_partial});
  }
  result->total = value_at(left.points.size(), right.points.size());
}

// Sets the presence of both series together: the time of the tick intervals in
// which both were there, divided by the time of the intervals that are known
// for both. Less than the former can be known if a clock was set back, so that
// a break covers other intervals.
void SetPresence(const SeriesResult& left, const SeriesResult& right,
                 SeriesResult* result) {
  if (left.intervals == nullptr || right.intervals == nullptr) return;
  const SeriesIntervals both = {
      .grid = left.intervals->grid,
      .there = left.intervals->there.And(right.intervals->there),
      .known = left.intervals->known.And(right.intervals->known)};
  for (Point& point : result->points) {
    if (!point.value.result.ok()) continue;
    const int64_t window = both.grid.WindowOf(point.time);
    point.value.presence =
        PartOf(both.there.LengthIn(window), both.known.LengthIn(window));
  }
  if (result->total.result.ok()) {
    result->total.presence = PartOf(both.there.Length(), both.known.Length());
  }
  result->intervals = std::make_shared<const SeriesIntervals>(both);
}

// Returns "(LEFT) / RIGHT", with parentheses where the order of evaluation
// needs them.
std::string TextOf(const Operation& operation, absl::string_view left,
                   absl::string_view right) {
  const auto side = [](absl::string_view text, bool in_parentheses) {
    return in_parentheses ? absl::StrCat("(", text, ")") : std::string(text);
  };
  return absl::StrCat(side(left, operation.wraps_left), " ",
                      std::string(1, operation.symbol), " ",
                      side(right, operation.wraps_right));
}

std::optional<absl::Time> EarlierOf(const std::optional<absl::Time>& a,
                                    const std::optional<absl::Time>& b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() ? a : b;
  return std::min(*a, *b);
}

// `named` is the side whose machine and instance the result has.
absl::StatusOr<SeriesResult> Combine(const Operation& operation,
                                     const SeriesResult& left,
                                     const SeriesResult& right,
                                     const SeriesResult& named) {
  const char symbol = operation.symbol;
  SeriesResult result;
  result.series = named.series;
  v1::Series& series = result.series;
  series.set_path(TextOf(operation, left.series.path(), right.series.path()));
  series.set_counter(
      TextOf(operation, left.series.counter(), right.series.counter()));
  ASSIGN_OR_RETURN(
      *series.mutable_unit(),
      UnitOf(symbol, left.series.unit(), right.series.unit(), series.path()));
  series.set_type(perflib::kPerfCounterLargeRawcount);  // a plain number
  series.clear_attrib();
  series.clear_default_scale();
  SetValues(symbol, left, right, &result);
  result.is_weighted = left.is_weighted && right.is_weighted;
  result.stopped = EarlierOf(left.stopped, right.stopped);
  result.ended = EarlierOf(left.ended, right.ended);
  SetPresence(left, right, &result);
  return result;
}

// A constant, or the result of an operation on constants.
struct Number {
  CalculatedValue value;
  ExactSum sum;  // equal to the value, but not rounded
  std::string text;
};

// Returns the number as a series with the labels of `other`. In a sum, it has
// the unit of `other`.
SeriesResult SeriesOf(const Number& number, const Operation& operation,
                      const SeriesResult& other) {
  const WindowValue value = {.result = number.value};
  SeriesResult result{.total = value, .is_weighted = true};
  result.series.set_path(number.text);
  result.series.set_counter(number.text);
  if (operation.symbol == '+' || operation.symbol == '-') {
    result.series.set_unit(other.series.unit());
  }
  result.sums.assign(other.points.size() + 1, number.sum);
  result.points.reserve(other.points.size());
  for (const Point& point : other.points) {
    result.points.push_back({point.time, value, point.is_partial});
  }
  return result;
}

using SeriesResults = std::vector<SeriesResult>;

struct Operand {
  bool is_number = false;
  Number number = {};         // if `is_number`
  SeriesResults series = {};  // otherwise
};

size_t PointsOf(const SeriesResults& results) {
  size_t points = 0;
  for (const SeriesResult& result : results) points += result.points.size();
  return points;
}

class Calculation {
 public:
  Calculation(const Expression& expression, std::vector<SeriesResults> series,
              QueryMeter* meter)
      : expression_(expression),
        series_(std::move(series)),
        uses_(series_.size()),
        meter_(*meter) {
    for (const SeriesResults& results : series_) held_ += PointsOf(results);
    for (const Expression::Node& node : expression.nodes) {
      const auto* path = std::get_if<PathOperand>(&node);
      if (path != nullptr) ++uses_[path->path];
    }
  }

  absl::StatusOr<SeriesResults> Run() {
    for (const Expression::Node& node : expression_.nodes) {
      if (const auto* number = std::get_if<ConstantOperand>(&node)) {
        operands_.push_back(NumberOf(expression_.constants[number->constant]));
      } else if (const auto* path = std::get_if<PathOperand>(&node)) {
        operands_.push_back({.series = SeriesOfPath(path->path)});
      } else {
        ASSIGN_OR_RETURN(Operand result, Apply(std::get<Operation>(node)));
        operands_.push_back(std::move(result));
      }
    }
    SeriesResults results = std::move(operands_.back().series);
    for (SeriesResult& result : results) result.sums = {};
    return results;
  }

 private:
  // Copies the series if another operation needs them, too.
  SeriesResults SeriesOfPath(size_t path) {
    if (--uses_[path] == 0) return std::move(series_[path]);
    held_ += PointsOf(series_[path]);
    return series_[path];
  }

  static Operand NumberOf(const Constant& constant) {
    Operand operand = {.is_number = true,
                       .number = {.value = CalculatedValue::Of(constant.value),
                                  .text = constant.text}};
    operand.number.sum.Add(constant.value);
    return operand;
  }

  static Number Apply(const Operation& operation, const Number& left,
                      const Number& right) {
    Number result = {.text = TextOf(operation, left.text, right.text)};
    if (IsSum(operation.symbol)) {
      result.sum = SumOf(operation.symbol, left.sum, right.sum);
    }
    result.value =
        ValueOf(operation.symbol, left.value, right.value, result.sum);
    if (!IsSum(operation.symbol)) result.sum.Add(result.value.value);
    return result;
  }

  absl::StatusOr<Operand> Apply(const Operation& operation) {
    const Operand left = std::move(operands_[operation.left]);
    const Operand right = std::move(operands_[operation.right]);
    Operand result = {.is_number = left.is_number && right.is_number};
    if (result.is_number) {
      result.number = Apply(operation, left.number, right.number);
    } else if (left.is_number) {
      RETURN_IF_ERROR(ApplyToEach(operation, right.series, left.number,
                                  /*number_is_left=*/true));
    } else if (right.is_number) {
      RETURN_IF_ERROR(ApplyToEach(operation, left.series, right.number,
                                  /*number_is_left=*/false));
    } else {
      RETURN_IF_ERROR(ApplyToPairs(operation, left.series, right.series));
    }
    held_ -= PointsOf(left.series) + PointsOf(right.series);
    result.series = std::exchange(results_, {});
    return result;
  }

  absl::Status ApplyToEach(const Operation& operation,
                           const SeriesResults& results, const Number& number,
                           bool number_is_left) {
    for (const SeriesResult& result : results) {
      const SeriesResult other = SeriesOf(number, operation, result);
      ASSIGN_OR_RETURN(
          SeriesResult combined,
          Combine(operation, number_is_left ? other : result,
                  number_is_left ? result : other, /*named=*/result));
      combined.intervals = result.intervals;
      RETURN_IF_ERROR(Add(std::move(combined)));
    }
    return absl::OkStatus();
  }

  absl::Status ApplyToPairs(const Operation& operation,
                            const SeriesResults& left,
                            const SeriesResults& right) {
    std::multimap<Key, const SeriesResult*> right_by_key;
    for (const SeriesResult& result : right) {
      right_by_key.emplace(KeyOf(operation, result.series), &result);
    }
    for (const SeriesResult& result : left) {
      RETURN_IF_ERROR(meter_.CheckCancelled());
      const auto [begin, end] =
          right_by_key.equal_range(KeyOf(operation, result.series));
      for (auto other = begin; other != end; ++other) {
        ASSIGN_OR_RETURN(
            SeriesResult combined,
            Combine(operation, result, *other->second,
                    operation.takes_right ? *other->second : result));
        RETURN_IF_ERROR(Add(std::move(combined)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Add(SeriesResult result) {
    if (result.points.empty()) return absl::OkStatus();  // no common window
    held_ += result.points.size();
    results_.push_back(std::move(result));
    return meter_.CheckHeld(held_);
  }

  const Expression& expression_;
  std::vector<SeriesResults> series_;  // by path
  std::vector<size_t> uses_;           // operations that still need a path
  QueryMeter& meter_;
  std::vector<Operand> operands_;  // by node; empty after their operation
  SeriesResults results_;          // of the current operation
  size_t held_ = 0;                // values in memory
};

}  // namespace

absl::StatusOr<std::vector<SeriesResult>> Calculate(
    const Expression& expression, std::vector<std::vector<SeriesResult>> series,
    QueryMeter* meter) {
  return Calculation(expression, std::move(series), meter).Run();
}

}  // namespace fleetperf::aggregator
