#include "cli/live_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

// Returns a response with a series and its values, at seconds of these numbers.
v1::SubscribeResponse Response(uint32_t id, const std::string& machine,
                               const std::vector<int>& values) {
  v1::SubscribeResponse response;
  v1::Series* series = response.add_series();
  series->set_id(id);
  series->set_machine(machine);
  series->set_path("\\System\\Processes");
  v1::Points* points = response.add_points();
  points->set_series(id);
  int last = 0;
  for (const int value : values) {
    points->add_time_unix_nanos((value - last) * kSecond);
    points->add_values(value);
    points->add_breaks(static_cast<uint32_t>(value));
    last = value;
  }
  return response;
}

TEST(LiveSeries, ContinuesWithoutRepetition) {
  LiveSeries series;
  EXPECT_EQ(series.NextStart(), std::nullopt);
  series.BeginStream(0);
  v1::SubscribeResponse first = Response(7, "web-1", {100, 101});
  series.Translate(0, &first);
  EXPECT_THAT(first.points(0).values(), ElementsAre(100, 101));
  const uint32_t id = first.series(0).id();
  EXPECT_LT(*series.NextStart(), absl::FromUnixSeconds(101));

  series.BeginStream(0);
  v1::SubscribeResponse second = Response(3, "web-1", {100, 101, 102, 104});
  second.add_ended(3);
  series.Translate(0, &second);
  EXPECT_EQ(second.series(0).id(), id);
  EXPECT_EQ(second.points(0).series(), id);
  EXPECT_THAT(second.points(0).values(), ElementsAre(102, 104));
  EXPECT_THAT(second.points(0).breaks(), ElementsAre(102, 104));
  EXPECT_THAT(second.points(0).time_unix_nanos(),
              ElementsAre(102 * kSecond, 2 * kSecond));
  EXPECT_THAT(second.ended(), ElementsAre(id));
}

TEST(LiveSeries, KeepsSeriesApart) {
  LiveSeries series;
  series.BeginStream(0);
  v1::SubscribeResponse first = Response(1, "web-1", {105});
  series.Translate(0, &first);
  series.BeginStream(0);
  // Another machine gets the id that web-1 had.
  v1::SubscribeResponse other = Response(1, "web-2", {100});
  series.Translate(0, &other);
  EXPECT_NE(other.series(0).id(), first.series(0).id());
  EXPECT_THAT(other.points(0).values(), ElementsAre(100));
  v1::SubscribeResponse old = Response(2, "web-1", {104, 105});
  series.Translate(0, &old);
  EXPECT_THAT(old.points(0).values(), IsEmpty());
  EXPECT_THAT(old.points(0).time_unix_nanos(), IsEmpty());
}

// Two instances of one name and id.
TEST(LiveSeries, DistinguishesSeriesOfOneKey) {
  LiveSeries series;
  series.BeginStream(0);
  v1::SubscribeResponse first = Response(1, "web-1", {100});
  first.MergeFrom(Response(2, "web-1", {100}));
  series.Translate(0, &first);
  ASSERT_EQ(first.series_size(), 2);
  EXPECT_NE(first.series(0).id(), first.series(1).id());
  EXPECT_EQ(first.points(1).series(), first.series(1).id());
  EXPECT_THAT(first.points(1).values(), ElementsAre(100));
}

// An agent moves from one aggregator to another.
TEST(LiveSeries, BelongsToTheAggregatorWithTheNewestValue) {
  LiveSeries series;
  series.BeginStream(0);
  series.BeginStream(1);
  v1::SubscribeResponse first = Response(7, "web-1", {100, 101});
  series.Translate(0, &first);
  const uint32_t id = first.series(0).id();

  // Known values are removed, and the series is not new.
  v1::SubscribeResponse same = Response(3, "web-1", {100, 101});
  series.Translate(1, &same);
  EXPECT_THAT(same.series(), IsEmpty());
  EXPECT_THAT(same.points(0).values(), IsEmpty());

  v1::SubscribeResponse moved = Response(3, "web-1", {101, 102});
  series.Translate(1, &moved);
  EXPECT_THAT(moved.series(), IsEmpty());
  EXPECT_EQ(moved.points(0).series(), id);
  EXPECT_THAT(moved.points(0).values(), ElementsAre(102));

  // The end at the aggregator that it left is not that of the series.
  v1::SubscribeResponse left;
  left.add_ended(7);
  series.Translate(0, &left);
  EXPECT_THAT(left.ended(), IsEmpty());
  v1::SubscribeResponse ended;
  ended.add_ended(3);
  series.Translate(1, &ended);
  EXPECT_THAT(ended.ended(), ElementsAre(id));
}

TEST(LiveSeries, DescribesASeriesAgainThatEndedElsewhere) {
  LiveSeries series;
  series.BeginStream(0);
  series.BeginStream(1);
  v1::SubscribeResponse first = Response(7, "web-1", {100});
  series.Translate(0, &first);
  v1::SubscribeResponse second = Response(3, "web-1", {100});
  series.Translate(1, &second);
  v1::SubscribeResponse ended;
  ended.add_ended(7);
  series.Translate(0, &ended);
  EXPECT_THAT(ended.ended(), ElementsAre(first.series(0).id()));
  v1::SubscribeResponse later = Response(3, "web-1", {103});
  later.clear_series();
  series.Translate(1, &later);
  ASSERT_EQ(later.series_size(), 1);
  EXPECT_EQ(later.series(0).id(), first.series(0).id());
  EXPECT_THAT(later.points(0).values(), ElementsAre(103));
}

}  // namespace
}  // namespace fleetperf::cli
