// Chooses series over the answers of several aggregators: --top, --bottom and
// --where.

#ifndef FLEETPERF_CLI_CHOSEN_SERIES_H_
#define FLEETPERF_CLI_CHOSEN_SERIES_H_

#include <vector>

#include "absl/status/status.h"
#include "cli/aggregators.h"
#include "cli/joined_series.h"
#include "cli/merged_answer.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// Whether the request wants the first series of a ranking.
bool IsRanked(const v1::QueryRangeRequest& request);

// Reads the answers to a request with a choice. A series that moved is judged
// by the part that covers more of the range. No aggregator knows the other
// part, so the choice is made here. With --where alone, all series are read;
// of a ranking, those of the machines whose series could be among the first.
absl::Status ReadChosen(const Aggregators& aggregators,
                        const v1::QueryRangeRequest& request,
                        const AnswerReader<RangeSeries>& reader);

// Keeps of each counter only the `top` series with the largest shares, largest
// first, or the `bottom` ones with the smallest; by counterset, counter and
// unit. Series with equal shares are by machine and path.
void KeepRanked(const v1::QueryRangeRequest& request,
                std::vector<RangeSeries>* series);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_CHOSEN_SERIES_H_
