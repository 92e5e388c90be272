// The wire format of values.

#include "aggregator/query/points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregator/query/raw_query.h"
#include "tests/support/raw_samples.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kStart;

Point PointAt(int64_t seconds, const WindowValue& value) {
  return {.time = kStart + absl::Seconds(seconds), .value = value};
}

WindowValue ValueOf(double value) {
  return {.result = CalculatedValue::Of(value)};
}

TEST(Points, HaveOnlyTimesAndValuesIfNothingIsMissing) {
  const v1::Points points =
      ToProto(7, {PointAt(10, ValueOf(1.5)), PointAt(20, ValueOf(0))});
  EXPECT_EQ(points.series(), 7);
  EXPECT_THAT(
      points.time_unix_nanos(),
      ElementsAre(absl::ToUnixNanos(kStart) + 10'000'000'000, 10'000'000'000));
  EXPECT_THAT(points.values(), ElementsAre(1.5, 0));
  EXPECT_THAT(points.statuses(), IsEmpty());
  EXPECT_THAT(points.causes(), IsEmpty());
  EXPECT_THAT(points.breaks(), IsEmpty());
  EXPECT_THAT(points.coverage(), IsEmpty());
}

TEST(Points, ReportWhyAValueIsMissing) {
  WindowValue gap{.breaks = 2, .coverage = 0};
  gap.result = CalculatedValue::Gap(GapCause::kClockStep);
  const v1::Points points =
      ToProto(1, {PointAt(10, ValueOf(5)), PointAt(20, gap)});
  EXPECT_THAT(points.values(), ElementsAre(5, 0));
  EXPECT_THAT(points.statuses(),
              ElementsAre(v1::VALUE_STATUS_OK, v1::VALUE_STATUS_GAP));
  EXPECT_THAT(points.causes(),
              ElementsAre(v1::GAP_CAUSE_UNSPECIFIED, v1::GAP_CAUSE_CLOCK_STEP));
  EXPECT_THAT(points.breaks(), ElementsAre(0, 2));
  EXPECT_THAT(points.coverage(), ElementsAre(1, 0));
}

TEST(Points, ReportCoverageAndBreaks) {
  WindowValue value = ValueOf(5);
  value.result.cause = GapCause::kReset;
  value.coverage = 0.5;
  const v1::Points points = ToProto(1, {PointAt(10, value)});
  EXPECT_THAT(points.statuses(), IsEmpty());  // not a gap
  EXPECT_THAT(points.causes(), ElementsAre(v1::GAP_CAUSE_RESET));
  EXPECT_THAT(points.coverage(), ElementsAre(0.5));
}

TEST(RawSamples, AreEncodedLikeTheirMessages) {
  constexpr int64_t kExtremes[] = {0, 1, -1, 127, 128, INT64_MAX, INT64_MIN};
  std::vector<RawSample> samples;
  for (const int64_t number : kExtremes) {
    const auto bits = static_cast<uint64_t>(number);
    const RawValue eight = {.value = bits, .size = 8};
    const RawValue four = {.value = bits & UINT32_MAX, .size = 4};
    const perflib::Clocks clocks = {number, number, number};
    samples.push_back({.clocks = clocks, .life = bits});  // without a value
    samples.push_back({.clocks = clocks, .life = 1, .value = eight});
    samples.push_back({.clocks = clocks,
                       .life = bits,
                       .value = four,
                       .denominator = eight,
                       .frequency = eight,
                       .multi = four});
  }
  for (const uint32_t series : {0u, 1u, UINT32_MAX}) {
    v1::RawSamples expected;
    expected.set_series(series);
    for (const RawSample& sample : samples) {
      *expected.add_samples() = ToProto(sample);
    }
    EXPECT_EQ(EncodeSamples(series, samples), expected.SerializeAsString());
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
