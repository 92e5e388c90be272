// Joins the parts of a series that several aggregators hold, because its agent
// moved from one to another.

#ifndef FLEETPERF_CLI_JOINED_SERIES_H_
#define FLEETPERF_CLI_JOINED_SERIES_H_

#include <string>
#include <vector>

#include "cli/values.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// A series of an answer, with all of its values.
template <typename RequestType, typename ResponseType, typename ValueType>
struct AnsweredSeries {
  using Request = RequestType;
  using Response = ResponseType;

  const v1::Series& series() const { return head.series(); }

  Response head;  // the series and what belongs to it
  std::vector<ValueType> values;
  // The addresses of the aggregators that hold values of it, in their order.
  std::vector<std::string> holders;
};
using RangeSeries =
    AnsweredSeries<v1::QueryRangeRequest, v1::QueryRangeResponse, Value>;
using RawSeries =
    AnsweredSeries<v1::QueryRawRequest, v1::QueryRawResponse, v1::RawSample>;

// Adds the values of a part of the answer.
void AddValues(const v1::QueryRangeResponse& response, RangeSeries* series);
void AddValues(const v1::QueryRawResponse& response, RawSeries* series);

// Joins the parts of one series, which must be at least one, in the order of
// the aggregators. Of each window, takes the part that covers more of it; then
// a value rather than none; of two gaps, one whose cause is known; then the
// first part. Only the last window may be partial. The share is that of the
// part that covers more of the range. The rest is as in the part that continues
// longest: where the range ends, and whether the series has ended or stopped.
// `request` says which times are of one window.
RangeSeries Join(std::vector<RangeSeries> parts,
                 const v1::QueryRangeRequest& request);

// Joins the samples in the order of their times. Those with the same clocks
// count once.
RawSeries Join(std::vector<RawSeries> parts, const v1::QueryRawRequest&);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_JOINED_SERIES_H_
