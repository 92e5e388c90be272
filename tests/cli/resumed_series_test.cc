#include "cli/resumed_series.h"

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

TEST(ResumedSeries, ContinuesWithoutRepetition) {
  ResumedSeries series;
  EXPECT_EQ(series.NextStart(), std::nullopt);
  series.BeginStream();
  v1::SubscribeResponse first = Response(7, "web-1", {100, 101});
  series.Translate(&first);
  EXPECT_THAT(first.points(0).values(), ElementsAre(100, 101));
  const uint32_t id = first.series(0).id();
  EXPECT_LT(*series.NextStart(), absl::FromUnixSeconds(101));

  series.BeginStream();
  v1::SubscribeResponse second = Response(3, "web-1", {100, 101, 102, 104});
  second.add_ended(3);
  series.Translate(&second);
  EXPECT_EQ(second.series(0).id(), id);
  EXPECT_EQ(second.points(0).series(), id);
  EXPECT_THAT(second.points(0).values(), ElementsAre(102, 104));
  EXPECT_THAT(second.points(0).breaks(), ElementsAre(102, 104));
  EXPECT_THAT(second.points(0).time_unix_nanos(),
              ElementsAre(102 * kSecond, 2 * kSecond));
  EXPECT_THAT(second.ended(), ElementsAre(id));
}

TEST(ResumedSeries, KeepsSeriesApart) {
  ResumedSeries series;
  series.BeginStream();
  v1::SubscribeResponse first = Response(1, "web-1", {105});
  series.Translate(&first);
  series.BeginStream();
  // Another machine gets the id that web-1 had.
  v1::SubscribeResponse other = Response(1, "web-2", {100});
  series.Translate(&other);
  EXPECT_NE(other.series(0).id(), first.series(0).id());
  EXPECT_THAT(other.points(0).values(), ElementsAre(100));
  v1::SubscribeResponse old = Response(2, "web-1", {104, 105});
  series.Translate(&old);
  EXPECT_THAT(old.points(0).values(), IsEmpty());
  EXPECT_THAT(old.points(0).time_unix_nanos(), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::cli
