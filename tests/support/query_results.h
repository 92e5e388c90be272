// Collects the streamed results of a query into a vector.

#ifndef FLEETPERF_TESTS_SUPPORT_QUERY_RESULTS_H_
#define FLEETPERF_TESTS_SUPPORT_QUERY_RESULTS_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/query/range_query.h"
#include "aggregator/query/raw_query.h"
#include "base/status_macros.h"

namespace fleetperf::testing {

inline absl::StatusOr<std::vector<aggregator::SeriesResult>> CollectRangeQuery(
    const aggregator::RangeRequest& request,
    const aggregator::QueryContext& context) {
  std::vector<aggregator::SeriesResult> results;
  RETURN_IF_ERROR(aggregator::RunRangeQuery(
      request, context, [&](aggregator::SeriesResult result) {
        results.push_back(std::move(result));
        return absl::OkStatus();
      }));
  return results;
}

inline absl::StatusOr<std::vector<aggregator::RawSeries>> CollectRawQuery(
    const aggregator::RangeRequest& request,
    const aggregator::QueryContext& context) {
  std::vector<aggregator::RawSeries> results;
  RETURN_IF_ERROR(aggregator::RunRawQuery(
      request, context, [&](aggregator::RawSeries result) {
        results.push_back(std::move(result));
        return absl::OkStatus();
      }));
  return results;
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_QUERY_RESULTS_H_
