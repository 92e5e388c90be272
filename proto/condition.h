// Conditions on values, such as those of queries and thresholds.

#ifndef FLEETPERF_PROTO_CONDITION_H_
#define FLEETPERF_PROTO_CONDITION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf {

enum class Comparison : uint8_t {
  kGreater,
  kGreaterOrEqual,
  kLess,
  kLessOrEqual,
  kEqual,
  kNotEqual,
};

struct Condition {
  Comparison comparison = Comparison::kGreater;
  double number = 0;
  std::string unit = "";  // of the number; empty: the unit of the values

  bool HoldsFor(double value) const;

  // Returns the condition for values in this unit. Returns InvalidArgument if
  // the number cannot be converted to it; `path` names the values.
  absl::StatusOr<Condition> In(absl::string_view values_unit,
                               absl::string_view path) const;
};

// Returns InvalidArgument if the comparison or the number is missing, or if the
// unit is unknown.
absl::StatusOr<Condition> ConditionFromProto(const v1::Condition& proto);

}  // namespace fleetperf

#endif  // FLEETPERF_PROTO_CONDITION_H_
