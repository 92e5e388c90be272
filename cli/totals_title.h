// The words above tables of values: what they are, and of which time.

#ifndef FLEETPERF_CLI_TOTALS_TITLE_H_
#define FLEETPERF_CLI_TOTALS_TITLE_H_

#include <string>

#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// Returns "the last 5m", "the 5m up to ..." or "the time from ... to ...".
std::string RangeText(const v1::QueryRangeRequest& request);

// Describes the values of a query without a step: "mean of the last 5m".
class TotalsTitle {
 public:
  // `agg` is the flag --agg; empty: none.
  TotalsTitle(const v1::QueryRangeRequest& request, std::string agg);

  // Notes a series of the answer: differences of counters are not means.
  void Add(const v1::Series& series);

  std::string Text() const;

 private:
  std::string ValueText() const;

  const v1::Over over_;
  const std::string agg_;
  const std::string range_;
  bool has_means_ = false;
  bool has_growth_ = false;
  bool has_newest_ = false;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_TOTALS_TITLE_H_
