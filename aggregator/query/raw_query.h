// Raw queries: the stored samples as they came.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RAW_QUERY_H_
#define FLEETPERF_AGGREGATOR_QUERY_RAW_QUERY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/formula/formula.h"
#include "aggregator/query/range_query.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator {

struct RawSeries {
  v1::Series series;
  std::vector<RawSample> samples;
};

// By machine and path. Of the request, the paths and the range are used. Errors
// as RunRangeQuery.
absl::StatusOr<std::vector<RawSeries>> RunRawQuery(const RangeRequest& request,
                                                   Store& store,
                                                   const MachineNow& now_of);

v1::RawSample ToProto(const RawSample& sample);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RAW_QUERY_H_
