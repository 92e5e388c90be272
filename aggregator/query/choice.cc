#include "aggregator/query/choice.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"
#include "values/unit.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxUnitBytes = 32;

}  // namespace

bool Condition::HoldsFor(double value) const {
  switch (comparison) {
    case Comparison::kGreater:
      return value > number;
    case Comparison::kGreaterOrEqual:
      return value >= number;
    case Comparison::kLess:
      return value < number;
    case Comparison::kLessOrEqual:
      return value <= number;
    case Comparison::kEqual:
      return value == number;
    case Comparison::kNotEqual:
      return value != number;
  }
  return false;
}

absl::StatusOr<Condition> Condition::In(absl::string_view values_unit,
                                        absl::string_view path) const {
  if (unit.empty()) return *this;
  const std::optional<double> factor = UnitFactor(unit, values_unit);
  if (factor.has_value()) {
    return Condition{.comparison = comparison, .number = number * *factor};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "where: the number is in ", unit, ", but the values of ", path, " are ",
      values_unit.empty() ? "plain numbers" : absl::StrCat("in ", values_unit),
      "; write it in that unit, or without a unit"));
}

absl::StatusOr<Condition> ConditionFromProto(const v1::Condition& proto) {
  if (std::isnan(proto.number())) {
    return absl::InvalidArgumentError(
        "where requires a number to compare with");
  }
  if (proto.unit().size() > kMaxUnitBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "where: \"", Excerpt(proto.unit(), kMaxUnitBytes), "\" is not a unit"));
  }
  RETURN_IF_ERROR(CheckUnit(proto.unit()));
  Condition condition{.number = proto.number(), .unit = proto.unit()};
  switch (proto.comparison()) {
    case v1::COMPARISON_GREATER:
      condition.comparison = Comparison::kGreater;
      break;
    case v1::COMPARISON_GREATER_OR_EQUAL:
      condition.comparison = Comparison::kGreaterOrEqual;
      break;
    case v1::COMPARISON_LESS:
      condition.comparison = Comparison::kLess;
      break;
    case v1::COMPARISON_LESS_OR_EQUAL:
      condition.comparison = Comparison::kLessOrEqual;
      break;
    case v1::COMPARISON_EQUAL:
      condition.comparison = Comparison::kEqual;
      break;
    case v1::COMPARISON_NOT_EQUAL:
      condition.comparison = Comparison::kNotEqual;
      break;
    default:
      return absl::InvalidArgumentError("where requires a comparison");
  }
  return condition;
}

namespace {

double RankOf(const SeriesResult& result) {
  return result.total.result.value * WeightOf(result, result.total);
}

}  // namespace

absl::Status Chooser::Add(SeriesResult result) {
  if (result.total.result.ok()) result.share = RankOf(result);
  if (choice_.is_of_all()) return sink_(std::move(result));
  if (!result.share.has_value()) return absl::OkStatus();
  if (choice_.where.has_value()) {
    const v1::Series& series = result.series;
    ASSIGN_OR_RETURN(const Condition where,
                     choice_.where->In(series.unit(), series.path()));
    if (!where.HoldsFor(*result.share)) return absl::OkStatus();
  }
  if (!is_ranking()) return sink_(std::move(result));
  Rank(std::move(result));
  return absl::OkStatus();
}

void Chooser::Rank(SeriesResult result) {
  const auto counter = CounterOf(result.series);
  auto known = rankings_.find(counter);
  if (known == rankings_.end()) {
    known = rankings_.emplace(counter, Ranking()).first;
  }
  Ranking& ranking = known->second;
  const double order = choice_.top > 0 ? -*result.share : *result.share;
  if (ranking.size() == std::max(choice_.top, choice_.bottom)) {
    const auto last = std::prev(ranking.end());
    // Among equal values, the series that arrived first stay.
    if (order >= last->first) return;
    held_ -= last->second.points.size();
    ranking.erase(last);
  }
  held_ += result.points.size();
  ranking.emplace(order, std::move(result));
}

absl::Status Chooser::Finish() {
  for (auto& [counter, ranking] : rankings_) {
    for (auto& [order, result] : ranking) {
      RETURN_IF_ERROR(sink_(std::move(result)));
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
