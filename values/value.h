// Calculated values: a number, or the reason why there is none.

#ifndef FLEETPERF_VALUES_VALUE_H_
#define FLEETPERF_VALUES_VALUE_H_

#include <cmath>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "values/causes.h"

namespace fleetperf {

enum class ValueStatus : uint8_t {
  kOk,
  kNeedTwoSamples,
  kNegativeValue,
  kNegativeDenominator,
  kZeroDenominator,
  kBadFrequency,
  kZeroMulti,
  kTypeMismatch,
  kNotDisplayable,
  kUnknownType,
  kGap,
  kNotFinite,  // the number is infinite or NaN
};

// "need_two_samples"
absl::string_view StatusName(ValueStatus status);

struct CalculatedValue {
  double value = 0;  // 0 unless OK
  ValueStatus status = ValueStatus::kOk;
  // The cause of a gap, or of a break in a window that has a value.
  GapCause cause = GapCause::kNone;

  // OK values are finite, and therefore ordered. Infinity and NaN are
  // kNotFinite.
  static CalculatedValue Of(double value) {
    if (!std::isfinite(value)) return Of(ValueStatus::kNotFinite);
    return {.value = value};
  }
  static CalculatedValue Of(ValueStatus status) { return {.status = status}; }
  static CalculatedValue Gap(GapCause cause) {
    return {.status = ValueStatus::kGap, .cause = cause};
  }

  bool ok() const { return status == ValueStatus::kOk; }
  bool operator==(const CalculatedValue&) const = default;
};

}  // namespace fleetperf

#endif  // FLEETPERF_VALUES_VALUE_H_
