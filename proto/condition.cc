#include "proto/condition.h"

#include <cmath>
#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"
#include "values/unit.h"

namespace fleetperf {
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
      absl::StrFormat("%.15g", number), " ", unit,
      " cannot be compared with the values of ", path, ", which are ",
      values_unit.empty()
          ? std::string("plain numbers; write it without a unit")
          : absl::StrCat("in ", values_unit,
                         "; write it in that unit, or without a unit")));
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

}  // namespace fleetperf
