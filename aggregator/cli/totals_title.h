// The line above a table with one value per series.

#ifndef FLEETPERF_AGGREGATOR_CLI_TOTALS_TITLE_H_
#define FLEETPERF_AGGREGATOR_CLI_TOTALS_TITLE_H_

#include <string>

#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

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

#endif  // FLEETPERF_AGGREGATOR_CLI_TOTALS_TITLE_H_
