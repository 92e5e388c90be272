// Raw queries: the stored samples as they came.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RAW_QUERY_H_
#define FLEETPERF_AGGREGATOR_QUERY_RAW_QUERY_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "aggregator/formula/formula.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/range_query.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator {

struct RawSeries {
  v1::Series series;
  std::vector<RawSample> samples;
};

// Takes an answer, series by series. An error ends the query.
using RawSink = absl::FunctionRef<absl::Status(RawSeries)>;

// Hands on the answer by machine and path, machine by machine as they are read.
// Of the request, the paths and the range are used. Errors as RunRangeQuery.
absl::Status RunRawQuery(const RangeRequest& request,
                         const QueryContext& context, RawSink sink);

v1::RawSample ToProto(const RawSample& sample);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RAW_QUERY_H_
