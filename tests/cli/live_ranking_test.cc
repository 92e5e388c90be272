// The ranking of watched series that several aggregators send.

#include "cli/live_ranking.h"

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

void AddSeries(uint32_t id, const std::string& counter,
               v1::SubscribeResponse* response) {
  v1::Series* series = response->add_series();
  series->set_id(id);
  series->set_counter(counter);
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

TEST(LiveRanking, PassesOnTheFirstOfAllAggregators) {
  LiveRanking ranking(/*top=*/2, /*bottom=*/0);
  v1::SubscribeResponse first;
  for (const uint32_t id : {1, 2}) AddSeries(id, "Load", &first);
  AddValue(1, 10, 50, &first);
  AddValue(2, 10, 70, &first);
  ranking.Apply(&first);
  EXPECT_THAT(TextsOf(first), ElementsAre("+1", "+2", "1=50", "2=70"));

  // Another aggregator has a larger one; another counter is separate.
  v1::SubscribeResponse second;
  AddSeries(3, "Load", &second);
  AddSeries(4, "Size", &second);
  AddValue(3, 10, 60, &second);
  AddValue(4, 10, 1, &second);
  ranking.Apply(&second);
  EXPECT_THAT(TextsOf(second), ElementsAre("+3", "+4", "3=60", "4=1", "-1"));

  // A value of a series that is not among the first is not passed on.
  v1::SubscribeResponse third;
  AddValue(1, 11, 55, &third);
  AddValue(2, 11, 71, &third);
  ranking.Apply(&third);
  EXPECT_THAT(TextsOf(third), ElementsAre("2=71"));

  // It returns with its newest value when another one ends.
  v1::SubscribeResponse fourth;
  fourth.add_ended(2);
  ranking.Apply(&fourth);
  EXPECT_THAT(TextsOf(fourth), ElementsAre("+1", "1=55", "-2"));
}

TEST(LiveRanking, PassesOnTheSmallest) {
  LiveRanking ranking(/*top=*/0, /*bottom=*/1);
  v1::SubscribeResponse response;
  for (const uint32_t id : {1, 2}) AddSeries(id, "Free", &response);
  AddValue(1, 10, 50, &response);
  AddValue(2, 10, 20, &response);
  ranking.Apply(&response);
  EXPECT_THAT(TextsOf(response), ElementsAre("+2", "2=20"));
}

TEST(LiveRanking, OmitsSeriesWithoutAValue) {
  LiveRanking ranking(/*top=*/1, /*bottom=*/0);
  v1::SubscribeResponse response;
  AddSeries(1, "Load", &response);
  AddValue(1, 10, 0, &response);
  response.mutable_points(0)->add_statuses(v1::VALUE_STATUS_GAP);
  ranking.Apply(&response);
  EXPECT_THAT(TextsOf(response), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::cli
