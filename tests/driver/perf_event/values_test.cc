#include "driver/perf_event/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "driver/perf_event/attributes.h"

namespace fleetperf::perf_event {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kAll = read_format::kTotalTimeEnabled |
                          read_format::kTotalTimeRunning | read_format::kId |
                          read_format::kGroup | read_format::kLost;

TEST(ScaledTest, EventsThatNeverRanHaveNoValue) {
  EXPECT_EQ(Scaled(0, 0, 0), std::nullopt);
  EXPECT_EQ(Scaled(0, 1000, 0), std::nullopt);
}

TEST(ScaledTest, RoundsDown) {
  EXPECT_THAT(Scaled(10, 3, 2), Optional(15u));
  EXPECT_THAT(Scaled(5, 3, 2), Optional(7u));
}

// 2^63 events in a third of 300 years' nanoseconds do not fit into 64 bits
// before the division.
TEST(ScaledTest, UsesProductsOf128Bits) {
  EXPECT_THAT(Scaled(uint64_t{1} << 62, 9'000'000'000'000'000'000,
                     6'000'000'000'000'000'000),
              Optional((uint64_t{1} << 62) / 2 * 3));
}

TEST(ScaledTest, StopsAtTheLargestNumber) {
  EXPECT_THAT(Scaled(kMax, 2, 1), Optional(kMax));
}

TEST(GroupValuesTest, ReadsAllFields) {
  GroupValues values;
  ASSERT_TRUE(values.Parse(
      std::vector<uint64_t>{2, 500, 400, 7, 91, 0, 8, 92, 3}, kAll));
  EXPECT_THAT(values.time_enabled(), Optional(500u));
  EXPECT_THAT(values.time_running(), Optional(400u));
  EXPECT_THAT(values.entries(),
              ElementsAre(GroupEntry{.value = 7, .id = 91, .lost = 0},
                          GroupEntry{.value = 8, .id = 92, .lost = 3}));
  EXPECT_EQ(values.Find(92)->value, 8u);
  EXPECT_EQ(values.Find(93), nullptr);
}

TEST(GroupValuesTest, ReadsValuesAlone) {
  GroupValues values;
  ASSERT_TRUE(
      values.Parse(std::vector<uint64_t>{3, 1, 2, 3}, read_format::kGroup));
  EXPECT_THAT(values.entries(),
              ElementsAre(GroupEntry{1}, GroupEntry{2}, GroupEntry{3}));
  EXPECT_EQ(values.time_enabled(), std::nullopt);
}

TEST(GroupValuesTest, RefusesACountThatExceedsTheData) {
  GroupValues values;
  EXPECT_FALSE(values.Parse(std::vector<uint64_t>{}, kAll));
  EXPECT_FALSE(values.Parse(std::vector<uint64_t>{1, 2}, kAll));
  EXPECT_FALSE(values.Parse(std::vector<uint64_t>{2, 0, 0, 7, 91, 0}, kAll));
  EXPECT_FALSE(values.Parse(std::vector<uint64_t>{kMax, 0, 0, 7, 91, 0}, kAll));
  EXPECT_TRUE(values.empty());
}

}  // namespace
}  // namespace fleetperf::perf_event
