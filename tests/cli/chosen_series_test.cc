#include "cli/chosen_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;

RangeSeries Ranked(const std::string& counter, const std::string& machine,
                   double share) {
  RangeSeries series;
  series.head.mutable_series()->set_machine(machine);
  series.head.mutable_series()->set_counter(counter);
  series.head.set_share(share);
  return series;
}

TEST(KeepRanked, KeepsTheFirstOfEachCounter) {
  const std::vector<RangeSeries> all = {
      Ranked("B", "a", 5), Ranked("A", "a", 1), Ranked("A", "b", 3),
      Ranked("A", "c", 3), Ranked("A", "d", 2)};
  const auto ranked = [&](uint32_t top, uint32_t bottom) {
    v1::QueryRangeRequest request;
    request.set_top(top);
    request.set_bottom(bottom);
    std::vector<RangeSeries> kept = all;
    KeepRanked(request, &kept);
    std::vector<std::string> texts;
    for (const RangeSeries& one : kept) {
      texts.push_back(one.series().counter() + one.series().machine());
    }
    return texts;
  };
  EXPECT_THAT(ranked(2, 0), ElementsAre("Ab", "Ac", "Ba"));
  EXPECT_THAT(ranked(0, 3), ElementsAre("Aa", "Ad", "Ab", "Ba"));
}

}  // namespace
}  // namespace fleetperf::cli
