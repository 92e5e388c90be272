#include "aggregator/query/points.h"

#include <algorithm>

#include "proto/conversions.h"

namespace fleetperf::aggregator {

// The enumerations have the same order. The wire's starts with "unspecified".
v1::ValueStatus ToProto(ValueStatus status) {
  return static_cast<v1::ValueStatus>(static_cast<int>(status) +
                                      v1::VALUE_STATUS_OK);
}
static_assert(static_cast<int>(ValueStatus::kOk) == 0);
static_assert(static_cast<int>(ValueStatus::kNotFinite) + v1::VALUE_STATUS_OK ==
              v1::VALUE_STATUS_NOT_FINITE);

v1::Points ToProto(uint32_t series, absl::Span<const Point> points) {
  v1::Points proto;
  proto.set_series(series);
  int64_t last_time = 0;
  for (const Point& point : points) {
    const int64_t time = absl::ToUnixNanos(point.time);
    proto.add_time_unix_nanos(time - last_time);
    last_time = time;
    const CalculatedValue& result = point.value.result;
    proto.add_values(result.ok() ? result.value : 0);
  }
  const auto any = [&](auto holds) {
    return std::any_of(points.begin(), points.end(), holds);
  };
  if (any([](const Point& p) { return !p.value.result.ok(); })) {
    for (const Point& point : points) {
      proto.add_statuses(ToProto(point.value.result.status));
    }
  }
  if (any([](const Point& p) {
        return p.value.result.cause != GapCause::kNone;
      })) {
    for (const Point& point : points) {
      proto.add_causes(ToProto(point.value.result.cause));
    }
  }
  if (any([](const Point& p) { return p.value.breaks > 0; })) {
    for (const Point& point : points) {
      proto.add_breaks(static_cast<uint32_t>(
          std::min<uint64_t>(point.value.breaks, UINT32_MAX)));
    }
  }
  if (any([](const Point& p) { return p.value.coverage < 1; })) {
    for (const Point& point : points) {
      proto.add_coverage(static_cast<float>(point.value.coverage));
    }
  }
  if (any([](const Point& p) { return p.value.presence < 1; })) {
    for (const Point& point : points) {
      proto.add_presence(static_cast<float>(point.value.presence));
    }
  }
  proto.set_last_is_partial(any([](const Point& p) { return p.is_partial; }));
  return proto;
}

}  // namespace fleetperf::aggregator
