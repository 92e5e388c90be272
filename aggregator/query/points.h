// Converts values to the wire format of queries and subscriptions.

#ifndef FLEETPERF_AGGREGATOR_QUERY_POINTS_H_
#define FLEETPERF_AGGREGATOR_QUERY_POINTS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "aggregator/query/range_evaluator.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator {

v1::ValueStatus ToProto(ValueStatus status);
v1::Points ToProto(uint32_t series, absl::Span<const Point> points);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_POINTS_H_
