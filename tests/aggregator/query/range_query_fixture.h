// A fixture for tests of range queries on a real store.

#ifndef FLEETPERF_TESTS_AGGREGATOR_QUERY_RANGE_QUERY_FIXTURE_H_
#define FLEETPERF_TESTS_AGGREGATOR_QUERY_RANGE_QUERY_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "aggregator/query/range_query.h"
#include "tests/support/points_text.h"
#include "tests/support/query_results.h"
#include "tests/support/raw_samples.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {

class RangeQuery : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<SeriesResult>> Run(const RangeRequest& request) {
    return testing::CollectRangeQuery(
        request, {.store = *store_,
                  .now_of = [this](const std::string&) { return now_; },
                  .limits = limits_});
  }

  // Returns "web-1 \Disk(C:)\Transfers/sec" and the points of each series.
  std::vector<std::string> Ask(const RangeRequest& request) {
    const auto results = Run(request);
    if (!results.ok()) return {results.status().ToString()};
    std::vector<std::string> texts;
    for (const SeriesResult& result : *results) {
      texts.push_back(
          absl::StrCat(result.series.machine(), " ", result.series.path()));
      for (std::string& point : testing::ToText(result.points)) {
        texts.push_back(std::move(point));
      }
    }
    return texts;
  }

  testing::TestStore store_;
  absl::Time now_ = testing::At(60);
  QueryLimits limits_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_TESTS_AGGREGATOR_QUERY_RANGE_QUERY_FIXTURE_H_
