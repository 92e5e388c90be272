#include "cli/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetperf::cli {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::Duration kMinute = absl::Minutes(1);

v1::QueryRangeRequest Last(int64_t seconds, int64_t step) {
  v1::QueryRangeRequest request;
  request.mutable_since()->set_seconds(seconds);
  request.mutable_step()->set_seconds(step);
  return request;
}

TEST(AskedRange, IsThatOfTheValuesIfNothingIsMissing) {
  // The minute that has begun has no value yet, and the hour before is not
  // whole minutes ago.
  const TimeRange values = {kNow - absl::Minutes(60), kNow};
  const TimeRange asked =
      AskedRange(Last(3600, 60), values, kMinute, kNow + absl::Seconds(59));
  EXPECT_EQ(asked.begin, values.begin);
  EXPECT_EQ(asked.end, values.end);
}

TEST(AskedRange, StartsBeforeTheFirstSamples) {
  const TimeRange values = {kNow - absl::Minutes(35), kNow};
  const TimeRange asked =
      AskedRange(Last(7 * 86400, 60), values, kMinute, kNow);
  EXPECT_EQ(asked.begin, kNow - absl::Hours(7 * 24));
  EXPECT_EQ(asked.end, kNow);
}

TEST(AskedRange, EndsNowIfSamplesHaveEnded) {
  const TimeRange values = {kNow - absl::Minutes(60), kNow - absl::Minutes(5)};
  EXPECT_EQ(AskedRange(Last(3600, 60), values, kMinute, kNow).end, kNow);
}

TEST(AskedRange, IsThatOfTheRequest) {
  v1::QueryRangeRequest request;
  request.mutable_start_time()->set_seconds(0);
  request.mutable_end_time()->set_seconds(3600);
  request.mutable_step()->set_seconds(60);
  const TimeRange values = {absl::FromUnixSeconds(600),
                            absl::FromUnixSeconds(1200)};
  const TimeRange asked = AskedRange(request, values, kMinute, kNow);
  EXPECT_EQ(asked.begin, absl::FromUnixSeconds(0));
  EXPECT_EQ(asked.end, absl::FromUnixSeconds(3600));
}

// Values at the end of each minute of an hour from `first` to `last`.
std::vector<TimedValue> Minutes(int first, int last) {
  std::vector<TimedValue> values;
  for (int minute = first; minute <= last; ++minute) {
    values.push_back({.time = kNow + absl::Minutes(minute), .value = 1});
  }
  return values;
}

TEST(CoveredPart, IsThatOfTheAskedRange) {
  const TimeRange hour = {kNow, kNow + absl::Hours(1)};
  EXPECT_EQ(CoveredPart(Minutes(1, 60), kMinute, hour), 1);
  EXPECT_EQ(CoveredPart(Minutes(16, 60), kMinute, hour), 0.75);
  EXPECT_EQ(CoveredPart(Minutes(1, 45), kMinute, hour), 0.75);
  // Of another machine, whose last minute has not arrived.
  EXPECT_EQ(CoveredPart(Minutes(1, 59), kMinute, hour), 1);
  std::vector<TimedValue> values = Minutes(1, 60);
  for (size_t i = 0; i < 12; ++i) values[i].value = std::nullopt;
  for (size_t i = 48; i < 60; ++i) values[i].coverage = 0.5;
  EXPECT_DOUBLE_EQ(CoveredPart(values, kMinute, hour), 0.7);
}

TEST(CoveredPart, CountsValuesPerSampleAsTheirInterval) {
  std::vector<TimedValue> values;
  for (int i = 1; i <= 6; ++i) {
    values.push_back({.time = kNow + absl::Seconds(10 * i), .value = 1});
  }
  const TimeRange minute = {kNow, kNow + kMinute};
  EXPECT_EQ(CoveredPart(values, absl::Seconds(1), minute), 1);
  values[2].value = std::nullopt;
  EXPECT_DOUBLE_EQ(CoveredPart(values, absl::Seconds(1), minute), 5 / 6.0);
}

}  // namespace
}  // namespace fleetperf::cli
