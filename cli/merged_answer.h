// Reads the answers of all aggregators to one query as one.

#ifndef FLEETPERF_CLI_MERGED_ANSWER_H_
#define FLEETPERF_CLI_MERGED_ANSWER_H_

#include <functional>

#include "absl/status/status.h"
#include "cli/aggregators.h"
#include "cli/joined_series.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// What to do with the answers. `Series` is RangeSeries or RawSeries.
template <typename Series>
struct AnswerReader {
  // Takes each series, whose parts have been joined. An error ends the query.
  std::function<absl::Status(Series)> use;
  // Takes the progress of all together.
  std::function<void(const v1::QueryProgress&)> on_progress;
  // Whether series combine machines, so that those of several aggregators
  // cannot be joined: InvalidArgument if more than one has some.
  bool spans_machines = false;
  // Whether the query is a part of another one, which records what is missing
  // and shows the progress.
  bool is_part = false;
};

// Asks all aggregators at the same time, and has one series of each in memory.
// The order is that of SeriesKey, or that of the answer if there is one
// aggregator. Records missing paths, which no aggregator has, and silent
// machines, of which no other one has later samples. Returns the Combined
// results.
template <typename Series>
absl::Status ReadAnswers(const Aggregators& aggregators,
                         const typename Series::Request& request,
                         const AnswerReader<Series>& reader);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_MERGED_ANSWER_H_
