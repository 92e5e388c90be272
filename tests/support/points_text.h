// Formats calculated values as short texts that a test can list:
//
//   "10: 2.5"                                 10 s after the start
//   "20: gap clock_step breaks=1 coverage=0"

#ifndef FLEETPERF_TESTS_SUPPORT_POINTS_TEXT_H_
#define FLEETPERF_TESTS_SUPPORT_POINTS_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/query/range_evaluator.h"
#include "tests/support/raw_samples.h"

namespace fleetperf::testing {

// Breaks and coverage appear only if samples are missing.
inline std::string ToText(const WindowValue& value) {
  const CalculatedValue& result = value.result;
  std::string text = result.ok() ? absl::StrFormat("%.7g", result.value)
                                 : std::string(StatusName(result.status));
  if (result.cause != GapCause::kNone) {
    absl::StrAppend(&text, " ", NameOf(result.cause));
  }
  if (value.breaks > 0) absl::StrAppend(&text, " breaks=", value.breaks);
  if (value.coverage < 1) {
    absl::StrAppendFormat(&text, " coverage=%.3g", value.coverage);
  }
  return text;
}

inline std::string ToText(const aggregator::Point& point) {
  return absl::StrCat(
      absl::StrFormat("%g: ", absl::ToDoubleSeconds(point.time - kStart)),
      ToText(point.value), point.is_partial ? " partial" : "");
}

inline std::vector<std::string> ToText(
    absl::Span<const aggregator::Point> points) {
  std::vector<std::string> texts;
  for (const aggregator::Point& point : points) texts.push_back(ToText(point));
  return texts;
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_POINTS_TEXT_H_
