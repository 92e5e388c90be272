// Series that several aggregators hold a part of.

#include "cli/joined_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/conversions.h"
#include "proto/series_key.h"

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);

v1::QueryRangeRequest WithStep(absl::Duration step) {
  v1::QueryRangeRequest request;
  *request.mutable_step() = ToProto(step);
  return request;
}

v1::Series Named(const std::string& machine, const std::string& name,
                 uint32_t id, uint32_t index) {
  v1::Series series;
  series.set_machine(machine);
  series.set_instance(name);
  series.set_instance_id(id);
  series.set_instance_index(index);
  series.set_path(absl::StrCat(
      "\\Disk(", name, index == 0 ? "" : absl::StrCat("#", index), ")\\Queue"));
  return series;
}

RangeSeries Part(const std::string& holder, const std::vector<Value>& values) {
  return {.values = values, .holders = {holder}};
}

Value At(int second, double value, double coverage = 1) {
  return {.time = kStart + absl::Seconds(second),
          .value = value,
          .coverage = coverage};
}

Value Gap(int second, v1::GapCause cause) {
  return {.time = kStart + absl::Seconds(second),
          .status = v1::VALUE_STATUS_GAP,
          .cause = cause,
          .coverage = 0};
}

// Returns "10: 5" or "10: reset" for each value.
std::vector<std::string> TextsOf(const RangeSeries& series) {
  std::vector<std::string> texts;
  for (const Value& value : series.values) {
    texts.push_back(absl::StrCat(
        absl::ToInt64Seconds(value.time - kStart), ": ",
        value.ok() ? absl::StrCat(value.value) : CauseText(value.cause)));
  }
  return texts;
}

TEST(SeriesKey, IsTheSameForInstancesThatAreNumberedDifferently) {
  EXPECT_EQ(SeriesKey(Named("a", "sda", 7, 0)),
            SeriesKey(Named("a", "sda", 7, 2)));
  EXPECT_NE(SeriesKey(Named("a", "sda", 7, 1)),
            SeriesKey(Named("a", "sda", 8, 1)));
  EXPECT_NE(SeriesKey(Named("a", "sda", 7, 0)),
            SeriesKey(Named("b", "sda", 7, 0)));
  // By machine first, then by name.
  EXPECT_LT(SeriesKey(Named("a", "sdb", 9, 0)),
            SeriesKey(Named("a1", "sda", 1, 0)));
  EXPECT_LT(SeriesKey(Named("a", "sda", 9, 3)),
            SeriesKey(Named("a", "sdb", 1, 0)));
}

TEST(SeriesKey, CountsInstancesOfOneNameAndId) {
  DistinctSeriesKeys keys(/*is_sorted=*/true);
  const std::string first = keys.KeyOf(Named("a", "sda", 7, 0));
  const std::string second = keys.KeyOf(Named("a", "sda", 7, 1));
  EXPECT_LT(first, second);
  EXPECT_LT(second, keys.KeyOf(Named("a", "sda", 8, 2)));
  DistinctSeriesKeys others(/*is_sorted=*/false);
  EXPECT_EQ(others.KeyOf(Named("a", "sda", 7, 3)), first);
  EXPECT_LT(second, others.KeyOf(Named("a", "sdb", 1, 0)));
  EXPECT_EQ(others.KeyOf(Named("a", "sda", 7, 0)), second);
}

TEST(JoinedSeries, TakesThePartThatCoversMoreOfEachWindow) {
  const RangeSeries joined = Join(
      {Part("a",
            {At(10, 1), At(20, 2, 0.3), Gap(30, v1::GAP_CAUSE_NO_SAMPLES)}),
       Part("b",
            {Gap(10, v1::GAP_CAUSE_NO_SAMPLES), At(20, 4, 0.7), At(30, 6)})},
      WithStep(absl::Seconds(10)));
  EXPECT_THAT(TextsOf(joined), ElementsAre("10: 1", "20: 4", "30: 6"));
  EXPECT_THAT(joined.holders, ElementsAre("a", "b"));
  EXPECT_FLOAT_EQ(joined.values[1].coverage, 0.7);
}

TEST(JoinedSeries, TakesTheFirstOfEqualParts) {
  EXPECT_THAT(
      TextsOf(Join({Part("a", {At(10, 1, 0.5)}), Part("b", {At(10, 2, 0.5)})},
                   WithStep(absl::Seconds(10)))),
      ElementsAre("10: 1"));
}

TEST(JoinedSeries, PrefersAValueToNoneAndACauseToNoSamples) {
  Value unknown = Gap(10, v1::GAP_CAUSE_NO_SAMPLES);
  EXPECT_THAT(TextsOf(Join({Part("a", {unknown}), Part("b", {At(10, 3, 0)})},
                           WithStep(absl::Seconds(10)))),
              ElementsAre("10: 3"));
  EXPECT_THAT(TextsOf(Join({Part("a", {unknown}),
                            Part("b", {Gap(10, v1::GAP_CAUSE_RESET)})},
                           WithStep(absl::Seconds(10)))),
              ElementsAre("10: reset"));
  EXPECT_THAT(TextsOf(Join({Part("a", {Gap(10, v1::GAP_CAUSE_RESET)}),
                            Part("b", {unknown})},
                           WithStep(absl::Seconds(10)))),
              ElementsAre("10: reset"));
}

TEST(JoinedSeries, NamesOnlyHoldersOfValues) {
  EXPECT_THAT(Join({Part("a", {Gap(10, v1::GAP_CAUSE_NO_SAMPLES)}),
                    Part("c", {At(10, 3)})},
                   WithStep(absl::Seconds(10)))
                  .holders,
              ElementsAre("c"));
}

// The aggregators are asked some milliseconds apart.
TEST(JoinedSeries, JoinsPartialWindowsThatEndAtDifferentTimes) {
  Value earlier = At(23, 1, 0.4);
  earlier.is_partial = true;
  Value later = At(24, 2, 0.9);
  later.is_partial = true;
  EXPECT_THAT(TextsOf(Join({Part("a", {At(20, 5), earlier}),
                            Part("b", {At(20, 6), later})},
                           WithStep(absl::Seconds(10)))),
              ElementsAre("20: 5", "24: 2"));
}

// The first three seconds of a window say less of it than a half.
TEST(JoinedSeries, ComparesPartialWindowsAsPartsOfWholeOnes) {
  Value partial = At(13, 1);
  partial.is_partial = true;
  EXPECT_THAT(TextsOf(Join({Part("a", {partial}), Part("b", {At(20, 2, 0.5)})},
                           WithStep(absl::Seconds(10)))),
              ElementsAre("20: 2"));
}

// An agent moved while the second aggregator had the rest of a window.
TEST(JoinedSeries, MakesRestsBeforeTheEndWhole) {
  Value rest = At(15, 1);
  rest.is_partial = true;
  const RangeSeries joined =
      Join({Part("a", {rest}), Part("b", {At(20, 2, 0.2), At(30, 3)})},
           WithStep(absl::Seconds(10)));
  EXPECT_THAT(TextsOf(joined), ElementsAre("20: 1", "30: 3"));
  EXPECT_FALSE(joined.values[0].is_partial);
  EXPECT_FLOAT_EQ(joined.values[0].coverage, 0.5);
}

// Later windows of the aggregator that the agent has left say nothing: the
// samples are in flight to the other one.
TEST(JoinedSeries, EndsWithThePartThatContinues) {
  const RangeSeries left =
      Part("a", {At(10, 1), At(20, 2, 0.1), Gap(30, v1::GAP_CAUSE_NO_SAMPLES)});
  const RangeSeries here = Part("b", {At(20, 4, 0.7)});
  for (const auto& parts : {std::vector{left, here}, std::vector{here, left}}) {
    EXPECT_THAT(TextsOf(Join(parts, WithStep(absl::Seconds(10)))),
                ElementsAre("10: 1", "20: 4"));
  }
  // The rest that arrives now continues, although it ends before the whole
  // window.
  Value rest = At(19, 4, 0.9);
  rest.is_partial = true;
  for (const auto& parts : {std::vector{left, Part("b", {rest})},
                            std::vector{Part("b", {rest}), left}}) {
    EXPECT_THAT(TextsOf(Join(parts, WithStep(absl::Seconds(10)))),
                ElementsAre("10: 1", "19: 4"));
  }
  // It has stopped.
  RangeSeries stopped = here;
  stopped.values.push_back(Gap(30, v1::GAP_CAUSE_NO_SAMPLES));
  EXPECT_THAT(TextsOf(Join({left, stopped}, WithStep(absl::Seconds(10)))),
              ElementsAre("10: 1", "20: 4", "30: no_samples"));
}

// Windows begin at the start of the range, if that is fixed.
TEST(JoinedSeries, CountsWindowsFromTheStart) {
  v1::QueryRangeRequest request = WithStep(absl::Seconds(10));
  *request.mutable_start_time() = ToProto(kStart + absl::Seconds(4));
  Value partial = At(33, 1, 0.4);
  partial.is_partial = true;
  EXPECT_THAT(TextsOf(Join({Part("a", {At(24, 5), partial}),
                            Part("b", {At(24, 6), At(34, 2)})},
                           request)),
              ElementsAre("24: 5", "34: 2"));
}

TEST(JoinedSeries, WithoutAStepHasOneValue) {
  EXPECT_THAT(TextsOf(Join({Part("a", {At(300, 10, 0.25)}),
                            Part("b", {At(301, 20, 0.75)})},
                           {})),
              ElementsAre("301: 20"));
}

TEST(JoinedSeries, KeepsSamplesOfAllParts) {
  EXPECT_THAT(TextsOf(Join({Part("a", {At(1, 1), At(2, 2)}),
                            Part("b", {At(2, 2), At(3, 3)})},
                           WithStep(absl::Seconds(1)))),
              ElementsAre("1: 1", "2: 2", "3: 3"));
}

TEST(JoinedSeries, RanksByThePartThatCoversMore) {
  RangeSeries narrow = Part("a", {At(10, 90, 0.1)});
  narrow.head.set_share(90);
  RangeSeries wide = Part("b", {At(10, 20, 0.9)});
  wide.head.set_share(20);
  EXPECT_EQ(Join({narrow, wide}, {}).head.share(), 20);
  EXPECT_EQ(Join({wide, narrow}, {}).head.share(), 20);
  // A second of a window is less than a half of it.
  narrow.values = {At(11, 90)};
  narrow.values[0].is_partial = true;
  wide.values = {At(20, 20, 0.5)};
  EXPECT_EQ(Join({narrow, wide}, WithStep(absl::Seconds(10))).head.share(), 20);
}

TEST(JoinedSeries, ContinuesIfOnePartDoes) {
  RangeSeries left = Part("a", {At(300, 10, 0.5)});
  left.values[0].newest_sample = kStart + absl::Seconds(150);
  RangeSeries here = Part("b", {At(300, 20, 0.4)});
  EXPECT_EQ(Join({left, here}, {}).values[0].newest_sample, std::nullopt);
  // The instance ended at the other aggregator.
  here.values[0].newest_sample = kStart + absl::Seconds(200);
  here.head.set_ended_unix_nanos(7);
  const RangeSeries ended = Join({left, here}, {});
  EXPECT_EQ(ended.values[0].newest_sample, kStart + absl::Seconds(200));
  EXPECT_EQ(ended.head.ended_unix_nanos(), 7);
}

v1::RawSample Sample(int64_t time, uint64_t value) {
  v1::RawSample sample;
  sample.set_perf_time_100nsec(time);
  sample.set_perf_time_stamp(time / 2);
  sample.set_value(value);
  return sample;
}

TEST(JoinedSeries, CountsSamplesWithTheSameClocksOnce) {
  RawSeries first;
  first.values = {Sample(10, 1), Sample(20, 2)};
  RawSeries second;
  second.values = {Sample(20, 2), Sample(30, 3)};
  std::vector<uint64_t> values;
  for (const v1::RawSample& sample : Join({second, first}, {}).values) {
    values.push_back(sample.value());
  }
  EXPECT_THAT(values, ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace fleetperf::cli
