#include "cli/live_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "perflib/counter_type.h"

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

// Returns the values of all series.
std::vector<double> ValuesOf(const v1::SubscribeResponse& response) {
  std::vector<double> values;
  for (const v1::Points& points : response.points()) {
    values.insert(values.end(), points.values().begin(), points.values().end());
  }
  return values;
}

TEST(LiveSeries, ContinuesWithoutRepetition) {
  LiveSeries series;
  EXPECT_EQ(series.NextStart(), std::nullopt);
  series.BeginStream(0);
  v1::SubscribeResponse first = Response(7, "web-1", {100, 101});
  series.Translate(0, &first);
  EXPECT_THAT(ValuesOf(first), ElementsAre(100, 101));
  const uint32_t id = first.series(0).id();
  EXPECT_LT(*series.NextStart(), absl::FromUnixSeconds(101));

  series.BeginStream(0);
  v1::SubscribeResponse second = Response(3, "web-1", {100, 101, 102, 104});
  second.add_ended(3);
  series.Translate(0, &second);
  EXPECT_THAT(second.series(), IsEmpty());  // it is known
  EXPECT_EQ(second.points(0).series(), id);
  EXPECT_THAT(ValuesOf(second), ElementsAre(102, 104));
  EXPECT_THAT(second.points(1).breaks(), ElementsAre(104));
  EXPECT_THAT(second.points(1).time_unix_nanos(), ElementsAre(104 * kSecond));
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
  EXPECT_THAT(ValuesOf(other), ElementsAre(100));
  v1::SubscribeResponse old = Response(2, "web-1", {104, 105});
  series.Translate(0, &old);
  EXPECT_THAT(ValuesOf(old), IsEmpty());
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
  EXPECT_THAT(ValuesOf(same), IsEmpty());

  v1::SubscribeResponse moved = Response(3, "web-1", {101, 102});
  series.Translate(1, &moved);
  EXPECT_THAT(moved.series(), IsEmpty());
  EXPECT_EQ(moved.points(0).series(), id);
  EXPECT_THAT(ValuesOf(moved), ElementsAre(102));

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
  EXPECT_THAT(ValuesOf(later), ElementsAre(103));
}

void AddSeries(uint32_t id, const std::string& counter,
               v1::SubscribeResponse* response) {
  v1::Series* series = response->add_series();
  series->set_id(id);
  series->set_counter(counter);
  series->set_path(absl::StrCat("\\", counter, id));
  series->set_type(perflib::kPerfCounterRawcount);
}

void AddValue(uint32_t id, int second, double value,
              v1::SubscribeResponse* response) {
  v1::Points* points = response->add_points();
  points->set_series(id);
  points->add_time_unix_nanos(int64_t{second} * 1'000'000'000);
  points->add_values(value);
}

// Returns "+2" for a new series, "2=7" for a value and "-2" for an end.
std::vector<std::string> TextsOf(const v1::SubscribeResponse& response) {
  std::vector<std::string> texts;
  for (const v1::Series& series : response.series()) {
    texts.push_back(absl::StrCat("+", series.id()));
  }
  for (const v1::Points& points : response.points()) {
    for (const double value : points.values()) {
      texts.push_back(absl::StrCat(points.series(), "=", value));
    }
  }
  for (const uint32_t id : response.ended()) {
    texts.push_back(absl::StrCat("-", id));
  }
  return texts;
}

// Each aggregator sends the first two of each counter.
TEST(RankedLiveSeries, AreTheFirstOfAllAggregators) {
  LiveSeries ranking(/*top=*/2);
  ranking.BeginStream(0);
  ranking.BeginStream(1);
  v1::SubscribeResponse first;
  AddSeries(1, "Load", &first);
  AddSeries(2, "Load", &first);
  AddValue(1, 10, 50, &first);
  AddValue(2, 10, 70, &first);
  ranking.Translate(0, &first);
  EXPECT_THAT(TextsOf(first), ElementsAre("+1", "+2", "1=50", "2=70"));

  // Another aggregator has a larger one; another counter is separate.
  v1::SubscribeResponse second;
  AddSeries(3, "Load", &second);
  AddSeries(4, "Size", &second);
  AddValue(3, 10, 60, &second);
  AddValue(4, 10, 1, &second);
  ranking.Translate(1, &second);
  EXPECT_THAT(TextsOf(second), ElementsAre("+3", "+4", "3=60", "4=1", "-1"));

  // A value of a series that is not among the first is not passed on.
  v1::SubscribeResponse third;
  AddValue(1, 11, 55, &third);
  AddValue(2, 11, 71, &third);
  ranking.Translate(0, &third);
  EXPECT_THAT(TextsOf(third), ElementsAre("2=71"));

  // It returns with its next value after another one has ended.
  v1::SubscribeResponse fourth;
  fourth.add_ended(3);
  ranking.Translate(1, &fourth);
  EXPECT_THAT(TextsOf(fourth), ElementsAre("-3"));
  v1::SubscribeResponse fifth;
  AddValue(1, 12, 56, &fifth);
  ranking.Translate(0, &fifth);
  EXPECT_THAT(TextsOf(fifth), ElementsAre("+1", "1=56"));
}

TEST(RankedLiveSeries, MayBeTheSmallest) {
  LiveSeries ranking(/*top=*/0, /*bottom=*/1);
  v1::SubscribeResponse response;
  AddSeries(1, "Free", &response);
  AddSeries(2, "Free", &response);
  AddValue(1, 10, 50, &response);
  AddValue(2, 10, 20, &response);
  ranking.Translate(0, &response);
  EXPECT_THAT(TextsOf(response), ElementsAre("+2", "2=20"));
}

TEST(RankedLiveSeries, HaveValues) {
  LiveSeries ranking(/*top=*/1);
  v1::SubscribeResponse response;
  AddSeries(1, "Load", &response);
  AddValue(1, 10, 0, &response);
  response.mutable_points(0)->add_statuses(v1::VALUE_STATUS_GAP);
  ranking.Translate(0, &response);
  EXPECT_THAT(TextsOf(response), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::cli
