#include "aggregator/store/compaction/merge_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/raw_samples.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kStart;

constexpr ChunkKey kFirst = {.hour = 5, .order = 1};
constexpr ChunkKey kSecond = {.hour = 5, .order = 2};

// Returns the groups of two chunks that differ only in their times of receipt.
std::vector<MergePlan::Group> PlanFor(absl::Time first, absl::Time second) {
  MergePlan plan([](uint32_t, uint32_t) { return false; });
  plan.Add(kFirst, {7}, first);
  plan.Add(kSecond, {7}, second);
  return plan.Take(absl::InfiniteFuture());
}

// Data is removed by its time of receipt.
TEST(MergePlan, MergesOnlyChunksReceivedWithinTwoHours) {
  for (const bool is_clock_set_back : {false, true}) {
    for (const absl::Duration gap : {absl::Hours(1), absl::Hours(3)}) {
      const absl::Time first = is_clock_set_back ? kStart + gap : kStart;
      const absl::Time second = is_clock_set_back ? kStart : kStart + gap;
      if (gap > absl::Hours(2)) {
        EXPECT_THAT(PlanFor(first, second), IsEmpty()) << is_clock_set_back;
      } else {
        EXPECT_THAT(PlanFor(first, second),
                    ElementsAre(ElementsAre(kFirst, kSecond)));
      }
    }
  }
}

TEST(MergePlan, LimitAppliesToAllChunksOfAGroup) {
  MergePlan plan([](uint32_t, uint32_t) { return false; });
  plan.Add(kFirst, {7}, kStart);
  plan.Add(kSecond, {7}, kStart - absl::Minutes(90));
  plan.Add({.hour = 5, .order = 3}, {7}, kStart + absl::Minutes(90));
  EXPECT_THAT(plan.Take(absl::InfiniteFuture()),
              ElementsAre(ElementsAre(kFirst, kSecond)));
}

}  // namespace
}  // namespace fleetperf::aggregator
