// The values of series, as queries and subscriptions bring them.

#ifndef FLEETPERF_AGGREGATOR_CLI_VALUES_H_
#define FLEETPERF_AGGREGATOR_CLI_VALUES_H_

#include <functional>

#include "absl/time/time.h"
#include "aggregator/cli/numbers.h"
#include "aggregator/cli/output.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

struct Value {
  absl::Time time;
  double value = 0;
  v1::ValueStatus status = v1::VALUE_STATUS_OK;
  v1::GapCause cause = v1::GAP_CAUSE_UNSPECIFIED;
  uint32_t breaks = 0;
  double coverage = 1;

  bool ok() const { return status == v1::VALUE_STATUS_OK; }
};

// Calls `use` with each of the points.
void ForEachValue(const v1::Points& points,
                  const std::function<void(const Value&)>& use);

// "gap", "negative_value"
std::string StatusText(v1::ValueStatus status);
std::string CauseText(v1::GapCause cause);

// A value as people read it: FormatNumber, but in hexadecimal or without
// separators where the registration asks for it.
NumberText NumberOf(const v1::Series& series, double value);

// The same for values of one series that stand together: their scale, of which
// `largest` is the largest without its sign, and each of them in it.
Scale ScaleOf(const v1::Series& series, double largest);
std::string ScaledNumberOf(const v1::Series& series, double value,
                           const Scale& scale);

// A value for printing. For programs: machine, path, time, value, status, unit,
// and what there is beside them. For people: `with_time` says whether the time
// is a column.
Record ValueRecord(const v1::Series& series, const Value& value,
                   bool with_time);

// Why there is no value: the cause, if it is known, or else the status.
std::string ReasonText(const Value& value);

// What people see of a value: the number, or why there is none.
std::string ValueText(const v1::Series& series, const Value& value);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_VALUES_H_
