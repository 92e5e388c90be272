#include "agent/source/totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;

constexpr auto kAbsent = std::nullopt;
using Row = std::vector<std::optional<uint64_t>>;

// Returns the totals after a pass over these instances.
Row Pass(Totals& totals, size_t columns,
         const std::vector<std::pair<uint64_t, Row>>& instances) {
  CountersetSample sample;
  sample.Reset(columns);
  totals.Begin();
  for (const auto& [key, row] : instances) {
    sample.AddInstance("", 0);
    for (size_t i = 0; i < columns; ++i) {
      if (row[i].has_value()) sample.Set(i, *row[i]);
    }
    totals.Add(key, sample.Row(sample.rows() - 1),
               sample.Present(sample.rows() - 1));
  }
  sample.AddInstance("", 0);
  totals.Finish(&sample);
  const size_t last = sample.rows() - 1;
  Row result;
  for (size_t i = 0; i < columns; ++i) {
    result.push_back(sample.HasValue(last, i)
                         ? std::optional(sample.Value(last, i))
                         : std::nullopt);
  }
  return result;
}

// The totals of one column.
class OneColumn {
 public:
  explicit OneColumn(TotalKind kind,
                     NewInstance new_instance = NewInstance::kStartedAtZero)
      : totals_({kind}, new_instance) {}

  std::optional<uint64_t> Pass(
      const std::vector<std::pair<uint64_t, std::optional<uint64_t>>>&
          instances) {
    std::vector<std::pair<uint64_t, Row>> rows;
    for (const auto& [key, value] : instances) rows.push_back({key, {value}});
    return agent::Pass(totals_, 1, rows)[0];
  }

 private:
  Totals totals_;
};

TEST(Totals, FollowTheKindOfEachColumn) {
  Totals totals({TotalKind::kNone, TotalKind::kGrowth, TotalKind::kMeanGrowth,
                 TotalKind::kSum, TotalKind::kMean},
                NewInstance::kWasCounting);
  EXPECT_THAT(
      Pass(totals, 5, {{1, {9, 100, 100, 7, 10}}, {2, {9, 500, 500, 8, 21}}}),
      ElementsAre(Eq(kAbsent), 0, 0, 15, 15));
  // The instances grow by 10 and 30.
  EXPECT_THAT(
      Pass(totals, 5, {{1, {9, 110, 110, 6, 30}}, {2, {9, 530, 530, 1, 41}}}),
      ElementsAre(Eq(kAbsent), 40, 20, 7, 35));
}

TEST(Totals, TheHighestValueStaysThatOfEndedInstances) {
  OneColumn total(TotalKind::kHighest);
  EXPECT_EQ(total.Pass({{1, 7}, {2, 9}}), 9);
  EXPECT_EQ(total.Pass({{1, 8}}), 9);
  EXPECT_EQ(total.Pass({{1, kAbsent}}), kAbsent);
  EXPECT_EQ(total.Pass({{1, 10}}), 10);
}

TEST(Totals, RetainCountsOfEndedInstances) {
  OneColumn total(TotalKind::kGrowth);
  EXPECT_EQ(total.Pass({{1, 1000}, {2, 50}}), 0);
  EXPECT_EQ(total.Pass({{1, 1300}, {2, 60}}), 310);
  EXPECT_EQ(total.Pass({{2, 65}}), 315);
  EXPECT_EQ(total.Pass({{2, 65}, {3, 7}}),
            322);  // all of process 3's value is growth
  EXPECT_EQ(total.Pass({{2, 66}, {1, 4}}),
            327);  // 1 is a different process now
}

TEST(Totals, CountInitialInstancesFromTheStart) {
  OneColumn total(TotalKind::kGrowth);
  EXPECT_EQ(total.Pass({{1, 1'000'000}}), 0);
  EXPECT_EQ(total.Pass({{1, 1'000'001}}), 1);
}

TEST(Totals, IgnoreEarlierCountsOfNewInstances) {
  OneColumn total(TotalKind::kGrowth, NewInstance::kWasCounting);
  EXPECT_EQ(total.Pass({{1, 10}}), 0);
  EXPECT_EQ(total.Pass({{1, 11}, {2, 5000}}), 1);
  EXPECT_EQ(total.Pass({{1, 12}, {2, 5003}}), 5);
}

TEST(Totals, NeverDecrease) {
  OneColumn total(TotalKind::kGrowth);
  total.Pass({{1, 100}, {2, 100}});
  EXPECT_EQ(total.Pass({{1, 150}, {2, 40}}), 50);  // 2 restarted
  EXPECT_EQ(total.Pass({{1, 150}, {2, 45}}), 55);
  EXPECT_EQ(total.Pass({}), kAbsent);
  EXPECT_EQ(total.Pass({{3, 0}}), 55);
}

TEST(Totals, RetainRemaindersOfDivision) {
  OneColumn total(TotalKind::kMeanGrowth);
  total.Pass({{1, 0}, {2, 0}, {3, 0}});
  uint64_t last = 0;
  for (uint64_t i = 1; i <= 300; ++i) {
    // One of three instances grows by 1 per pass.
    const std::optional<uint64_t> now = total.Pass({{1, i}, {2, 0}, {3, 0}});
    ASSERT_TRUE(now.has_value());
    EXPECT_LE(*now - last, 1);
    last = *now;
  }
  EXPECT_EQ(last, 100);
}

// A CPU that comes online must not halve the idle time of the others.
TEST(Totals, AverageOverInstancesWithKnownGrowth) {
  OneColumn total(TotalKind::kMeanGrowth, NewInstance::kWasCounting);
  total.Pass({{0, 1000}, {1, 2000}});
  EXPECT_EQ(total.Pass({{0, 1100}, {1, 2100}}), 100);
  EXPECT_EQ(total.Pass({{0, 1200}}), 200);
  EXPECT_EQ(total.Pass({{0, 1300}, {1, 9000}}), 300);
  EXPECT_EQ(total.Pass({{0, 1400}, {1, 9100}}), 400);
  EXPECT_EQ(total.Pass({{0, 1500}, {1, 20}}), 500);  // restarted
  EXPECT_EQ(total.Pass({{0, 1600}, {1, 120}}), 600);
}

TEST(Totals, AreAbsentWithoutValues) {
  OneColumn total(TotalKind::kSum);
  EXPECT_EQ(total.Pass({{1, kAbsent}}), kAbsent);
  EXPECT_EQ(total.Pass({{1, kAbsent}, {2, 3}}), 3);
}

TEST(Totals, ToleratePassesWithoutAValue) {
  OneColumn total(TotalKind::kGrowth);
  total.Pass({{1, 100}, {2, 1}});
  EXPECT_EQ(total.Pass({{1, kAbsent}, {2, 1}}), 0);
  EXPECT_EQ(total.Pass({{1, 130}, {2, 1}}), 30);
}

// Handles with different intervals and counters share a counterset's totals.
// Here, the second column is collected in every third pass.
TEST(Totals, CountNewInstancesInColumnsThatAreCollectedRarely) {
  Totals totals({TotalKind::kGrowth, TotalKind::kGrowth},
                NewInstance::kStartedAtZero);
  EXPECT_THAT(Pass(totals, 2, {{1, {10, 1000}}}), ElementsAre(0, 0));
  EXPECT_THAT(Pass(totals, 2, {{1, {11, kAbsent}}}),
              ElementsAre(1, Eq(kAbsent)));
  // Process 2 starts and is seen before its second column is collected.
  EXPECT_THAT(Pass(totals, 2, {{1, {11, kAbsent}}, {2, {5, kAbsent}}}),
              ElementsAre(6, Eq(kAbsent)));
  EXPECT_THAT(Pass(totals, 2, {{1, {11, 1001}}, {2, {5, 70}}}),
              ElementsAre(6, 71));
  // Values of a process that could not be read before are not growth.
  Pass(totals, 2, {{1, {11, 1001}}, {2, {5, 70}}, {3, {0, kAbsent}}});
  EXPECT_THAT(Pass(totals, 2, {{1, {11, 1001}}, {2, {5, 70}}, {3, {0, 900}}}),
              ElementsAre(6, 71));
}

}  // namespace
}  // namespace fleetperf::agent
