// Raw queries: the stored samples without calculation.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RAW_QUERY_H_
#define FLEETPERF_AGGREGATOR_QUERY_RAW_QUERY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/range_query.h"
#include "fleetperf/v1/values.pb.h"
#include "values/formula.h"

namespace fleetperf::aggregator {

struct RawSeries {
  v1::Series series;
  std::vector<RawSample> samples;
};

// Receives an answer series by series. An error ends the query.
using RawSink = absl::FunctionRef<absl::Status(RawSeries)>;

// Passes the answer on by machine and path, one machine at a time. Uses only
// the paths and the range of the request. Returns the errors of RunRangeQuery.
absl::Status RunRawQuery(const RangeRequest& request,
                         const QueryContext& context, RawSink sink);

v1::RawSample ToProto(const RawSample& sample);

// Returns an encoded v1::RawSamples, without allocating a message for each
// sample.
std::string EncodeSamples(uint32_t series, absl::Span<const RawSample> samples);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RAW_QUERY_H_
