// The lines that calc reads.

#ifndef FLEETPERF_AGGREGATOR_CLI_CALC_LINE_H_
#define FLEETPERF_AGGREGATOR_CLI_CALC_LINE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "aggregator/formula/calculate.h"

namespace fleetperf::cli {

struct CalcLine {
  // Without the older sample if `series` is not empty.
  aggregator::PrintedCounter counter;
  // The members that tell the origin of the value, to repeat in the output:
  // "\"machine\":\"web-1\",". Empty if there are none.
  std::string origin;
  // For a line with one sample: the series of the sample and its life. The
  // older sample is that of the series' previous line.
  std::string series;
  std::string life;
  bool has_value = true;
  // Whether the samples are as stored: what their formula lacks is missing in
  // the data, which has a status, and not in the line.
  bool is_stored = false;
};

// Parses a JSON object with two samples, as documents print them or as
// `explain` does, or with one sample, as `query --raw` and `decode` print them.
// Integers may be strings. `default_type` is the type of lines without one.
// Errors name the member.
absl::StatusOr<CalcLine> ParseCalcLine(absl::string_view line,
                                       const std::string& default_type);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_CALC_LINE_H_
