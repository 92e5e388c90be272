// Reads the answers of all aggregators to one query as one.

#ifndef FLEETPERF_CLI_MERGED_ANSWER_H_
#define FLEETPERF_CLI_MERGED_ANSWER_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "cli/aggregators.h"
#include "cli/joined_series.h"
#include "fleetperf/v1/query.grpc.pb.h"

namespace fleetperf::cli {

enum class AnswerOrder : uint8_t {
  kByKey,         // sorted by SeriesKey
  kRanked,        // in another order; at most a few series
  kOverMachines,  // sorted, of series that combine several machines
};

// How to ask one aggregator, and what to do with the answers.
template <typename Series>
struct AnswerReader {
  using Response = typename Series::Response;

  AnswerOrder order = AnswerOrder::kByKey;
  std::function<std::unique_ptr<grpc::ClientReader<Response>>(
      v1::QueryService::Stub*, grpc::ClientContext*)>
      start;
  // Takes the progress of the aggregator with this number.
  std::function<void(size_t, const v1::QueryProgress&)> on_progress;
  // Takes the parts of a series, of the aggregators in their order. An error
  // ends the query. Called by SeriesKey.
  std::function<absl::Status(std::vector<Series>)> use;
};

// Asks all aggregators at the same time, and has one series of each in memory,
// or all if they are ranked. Records missing paths, which no aggregator has,
// and silent machines, which have no samples at another one. Returns the
// Combined results, or InvalidArgument if several have series that combine
// machines. `Series` is RangeSeries or RawSeries.
template <typename Series>
absl::Status ReadAnswers(const Aggregators& aggregators,
                         const AnswerReader<Series>& reader);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_MERGED_ANSWER_H_
