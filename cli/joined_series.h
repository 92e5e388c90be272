// Joins the parts of a series that several aggregators hold, because its agent
// moved from one to another.

#ifndef FLEETPERF_CLI_JOINED_SERIES_H_
#define FLEETPERF_CLI_JOINED_SERIES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/values.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// A series of a range query with all of its values.
struct RangeSeries {
  using Response = v1::QueryRangeResponse;

  explicit RangeSeries(const Response& response) : head(response) {}
  const v1::Series& series() const { return head.series(); }

  void Add(const Response& response);

  Response head;  // the series and what belongs to it
  std::vector<Value> values;
  // The numbers of the aggregators that hold values of it, in their order.
  std::vector<size_t> holders;
};

// A series with all of its raw samples.
struct RawSeries {
  using Response = v1::QueryRawResponse;

  explicit RawSeries(const Response& response) : head(response) {}
  const v1::Series& series() const { return head.series(); }
  void Add(const Response& response);

  Response head;
  std::vector<v1::RawSample> samples;
  std::vector<size_t> holders;
};

// Joins the parts of one series, which must be at least one, in the order of
// the aggregators. Of each window, takes the part with the larger coverage;
// then a value rather than none; of two gaps, one whose cause is known; then
// the first part. The share is that of the part that covers more of the range.
// Whether the series has ended or stopped is as in the part that continues
// longest. `request` says which times are of one window.
RangeSeries Join(std::vector<RangeSeries> parts,
                 const v1::QueryRangeRequest& request);

// Joins the samples in the order of their times. Those with the same clocks
// count once.
RawSeries Join(std::vector<RawSeries> parts);

// Keeps of each counter only the `top` series with the largest shares, largest
// first, or the `bottom` ones with the smallest; by counterset, counter and
// unit. Series with equal shares stay in their order.
void KeepRanked(const v1::QueryRangeRequest& request,
                std::vector<RangeSeries>* series);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_JOINED_SERIES_H_
