// The time that values stand for, and how much of the asked range that is.

#ifndef FLEETPERF_CLI_TIMELINE_H_
#define FLEETPERF_CLI_TIMELINE_H_

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

struct TimedValue {
  absl::Time time;
  std::optional<double> value;  // nullopt: a gap
  double coverage = 1;
};

struct TimeRange {
  absl::Time begin = absl::InfiniteFuture();
  absl::Time end = absl::InfinitePast();

  absl::Duration length() const { return end - begin; }
  void Include(const TimeRange& other);
};

// Returns the range of each of a series' values: from the one before it to its
// own time. The first one is as long as `step`, or as the second one if that is
// longer: a value per sample.
std::vector<TimeRange> RangesOf(absl::Span<const TimedValue> values,
                                absl::Duration step);

// Returns the range that a query with a step asked for, given the range and the
// longest step of its values. It differs from the range of the values only if
// values are missing at its start or at its end: a window that has not ended,
// and samples that have not arrived, are not missing. Without a start in the
// request, it is the range of the values. `end` is that of the answer, for
// requests without an end; the machines' clocks may differ from the own one.
TimeRange AskedRange(const v1::QueryRangeRequest& request,
                     const TimeRange& of_values, absl::Duration longest,
                     absl::Time end);

// Returns the part of `asked` that the values cover, from 0 to 1.
double CoveredPart(absl::Span<const TimedValue> values, absl::Duration step,
                   TimeRange asked);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_TIMELINE_H_
