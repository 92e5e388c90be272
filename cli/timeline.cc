#include "cli/timeline.h"

#include <algorithm>

#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

// The time that agents and the network may take to deliver a sample.
constexpr absl::Duration kDelivery = absl::Seconds(10);
// A series goes on until this many intervals after its newest sample.
constexpr double kIntervalsToGoOn = 2.5;

// Returns how much earlier than the end of the range the last value may be
// although nothing is missing. `longest` is the longest step of the values.
absl::Duration Patience(absl::Duration step, absl::Duration longest) {
  return kDelivery + (longest > step ? longest * kIntervalsToGoOn : step);
}

}  // namespace

void TimeRange::Include(const TimeRange& other) {
  begin = std::min(begin, other.begin);
  end = std::max(end, other.end);
}

std::vector<TimeRange> RangesOf(absl::Span<const TimedValue> values,
                                absl::Duration step) {
  std::vector<TimeRange> ranges;
  ranges.reserve(values.size());
  absl::Duration first = step;
  if (values.size() > 1)
    first = std::max(first, values[1].time - values[0].time);
  for (const TimedValue& value : values) {
    ranges.push_back(
        {ranges.empty() ? value.time - first : ranges.back().end, value.time});
  }
  return ranges;
}

TimeRange AskedRange(const v1::QueryRangeRequest& request,
                     const TimeRange& of_values, absl::Duration longest,
                     absl::Time end) {
  TimeRange asked = of_values;
  if (!request.has_since() && !request.has_start_time()) return asked;
  const absl::Duration step = FromProto(request.step());
  if (request.has_end_time()) end = FromProto(request.end_time());
  if (end - asked.end > Patience(step, longest)) asked.end = end;
  const absl::Time begin = request.has_since()
                               ? asked.end - FromProto(request.since())
                               : FromProto(request.start_time());
  if (asked.begin - begin > std::max(step, longest)) asked.begin = begin;
  return asked;
}

double CoveredPart(absl::Span<const TimedValue> values, absl::Duration step,
                   TimeRange asked) {
  const std::vector<TimeRange> ranges = RangesOf(values, step);
  if (ranges.empty()) return 0;
  const absl::Duration longest = std::max(step, ranges.front().length());
  // Machines deliver their newest samples at different times.
  const absl::Time last = ranges.back().end;
  if (last < asked.end && asked.end - last <= Patience(step, longest)) {
    asked.end = last;
  }
  absl::Duration covered;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!values[i].value.has_value()) continue;
    const absl::Duration inside = std::min(ranges[i].end, asked.end) -
                                  std::max(ranges[i].begin, asked.begin);
    covered += std::max(inside, absl::ZeroDuration()) * values[i].coverage;
  }
  if (asked.length() <= absl::ZeroDuration()) return 1;
  return std::min(1.0, absl::FDivDuration(covered, asked.length()));
}

}  // namespace fleetperf::cli
