#include "values/value.h"

namespace fleetperf {

absl::string_view StatusName(ValueStatus status) {
  switch (status) {
    case ValueStatus::kOk:
      return "ok";
    case ValueStatus::kNeedTwoSamples:
      return "need_two_samples";
    case ValueStatus::kNegativeValue:
      return "negative_value";
    case ValueStatus::kNegativeDenominator:
      return "negative_denominator";
    case ValueStatus::kZeroDenominator:
      return "zero_denominator";
    case ValueStatus::kBadFrequency:
      return "bad_frequency";
    case ValueStatus::kZeroMulti:
      return "zero_multi";
    case ValueStatus::kTypeMismatch:
      return "type_mismatch";
    case ValueStatus::kNotDisplayable:
      return "not_displayable";
    case ValueStatus::kUnknownType:
      return "unknown_type";
    case ValueStatus::kGap:
      return "gap";
    case ValueStatus::kNotFinite:
      return "not_finite";
  }
  return "unknown";
}

}  // namespace fleetperf
