#include "aggregator/peers/live_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A message with values of a series, one a second from `first` on.
v1::SubscribeResponse Values(uint32_t id, const std::string& machine,
                             int64_t first, std::vector<double> values) {
  v1::SubscribeResponse message;
  v1::Series* const series = message.add_series();
  series->set_id(id);
  series->set_machine(machine);
  series->set_path("\\Memory\\Available Bytes");
  v1::Points* const points = message.add_points();
  points->set_series(id);
  for (const double value : values) {
    points->add_time_unix_nanos(points->values().empty() ? first * 1'000'000'000
                                                         : 1'000'000'000);
    points->add_values(value);
  }
  return message;
}

// Returns "id machine values" of each series, and "-id" for each end.
std::vector<std::string> Text(const absl::StatusOr<FeedUpdate>& update) {
  EXPECT_OK(update);
  std::vector<std::string> texts;
  for (const SeriesValues& values : update->values) {
    EXPECT_EQ(values.points.series(), values.series->id());
    texts.push_back(
        absl::StrCat(values.series->id(), " ", values.series->machine()));
    for (const double value : values.points.values()) {
      absl::StrAppend(&texts.back(), " ", value);
    }
  }
  for (const uint32_t id : update->ended)
    texts.push_back(absl::StrCat("-", id));
  return texts;
}

TEST(LiveMergeTest, SeriesOfAMachineThatMovesContinues) {
  LiveMerge merge;
  LiveMerge::Stream a = merge.Begin();
  LiveMerge::Stream b = merge.Begin();
  EXPECT_THAT(Text(merge.Add(Values(7, "web-1", 1, {10, 20}), &a)),
              ElementsAre("1 web-1 10 20"));
  EXPECT_THAT(Text(merge.Add(Values(7, "web-2", 1, {5}), &b)),
              ElementsAre("2 web-2 5"));
  // The agent moves to the other aggregator, and sends a batch again.
  EXPECT_THAT(Text(merge.Add(Values(9, "web-1", 1, {10, 20}), &b)), IsEmpty());
  EXPECT_THAT(Text(merge.Add(Values(9, "web-1", 2, {20, 30}), &b)),
              ElementsAre("1 web-1 30"));
  // The first one still has the machine. Its end is not that of the series.
  v1::SubscribeResponse end;
  end.add_ended(7);
  EXPECT_THAT(Text(merge.Add(end, &a)), IsEmpty());
  end.set_ended(0, 9);
  EXPECT_THAT(Text(merge.Add(end, &b)), ElementsAre("-1"));
  // The agent returns.
  EXPECT_THAT(Text(merge.Add(Values(8, "web-1", 3, {30, 40}), &a)),
              ElementsAre("1 web-1 40"));
  EXPECT_THAT(Text(merge.End(a)), ElementsAre("-1"));
  EXPECT_THAT(Text(merge.End(a)), IsEmpty());
}

// The clock of the machine is set back.
TEST(LiveMergeTest, ValuesOfOneStreamMayHaveEarlierTimes) {
  LiveMerge merge;
  LiveMerge::Stream a = merge.Begin();
  LiveMerge::Stream b = merge.Begin();
  EXPECT_THAT(Text(merge.Add(Values(1, "web-1", 100, {1}), &a)),
              ElementsAre("1 web-1 1"));
  EXPECT_THAT(Text(merge.Add(Values(1, "web-1", 50, {2, 3}), &a)),
              ElementsAre("1 web-1 2 3"));
  EXPECT_THAT(Text(merge.Add(Values(1, "web-1", 50, {2, 3, 4}), &b)),
              ElementsAre("1 web-1 4"));
}

TEST(LiveMergeTest, StreamThatIsBegunAgainRepeatsNothing) {
  LiveMerge merge;
  LiveMerge::Stream lost = merge.Begin();
  EXPECT_EQ(lost.newest(), std::nullopt);
  EXPECT_THAT(Text(merge.Add(Values(1, "web-1", 10, {1, 2}), &lost)),
              ElementsAre("1 web-1 1 2"));
  EXPECT_EQ(lost.newest(), absl::FromUnixSeconds(11));
  LiveMerge::Stream again = merge.Resume(lost);
  EXPECT_EQ(again.newest(), absl::FromUnixSeconds(11));
  EXPECT_THAT(Text(merge.Add(Values(1, "web-1", 9, {0, 1, 2, 3, 4}), &again)),
              ElementsAre("1 web-1 3 4"));
}

v1::SubscribeResponse EndOf(uint32_t id) {
  v1::SubscribeResponse end;
  end.add_ended(id);
  return end;
}

TEST(LiveMergeTest, StreamThatIsBegunAgainHasTheSeriesOfBefore) {
  LiveMerge merge;
  LiveMerge::Stream lost = merge.Begin();
  EXPECT_THAT(Text(merge.Add(Values(1, "web-1", 10, {1, 2}), &lost)),
              ElementsAre("1 web-1 1 2"));
  EXPECT_THAT(Text(merge.Add(Values(2, "web-2", 10, {5}), &lost)),
              ElementsAre("2 web-2 5"));
  // Attempts fail, then a stream repeats one series, which ends.
  LiveMerge::Stream again = merge.Resume(merge.Resume(lost));
  EXPECT_THAT(Text(merge.Add(Values(8, "web-1", 10, {1, 2}), &again)),
              IsEmpty());
  EXPECT_THAT(Text(merge.Add(EndOf(8), &again)), ElementsAre("-1"));
  EXPECT_THAT(Text(merge.End(again)), ElementsAre("-2"));
}

TEST(LiveMergeTest, SeriesEndThatAStreamBegunAgainDoesNotHave) {
  LiveMerge merge;
  LiveMerge::Stream lost = merge.Begin();
  LiveMerge::Stream other = merge.Begin();
  for (uint32_t id = 1; id <= 3; ++id) {
    EXPECT_OK(merge.Add(Values(id, absl::StrCat("web-", id), 10, {1}), &lost));
  }
  // One machine moves meanwhile, and one has no new value.
  EXPECT_OK(merge.Add(Values(1, "web-3", 11, {1}), &other));
  LiveMerge::Stream again = merge.Resume(lost);
  EXPECT_THAT(Text(merge.Add(Values(8, "web-1", 10, {1}), &again)), IsEmpty());
  EXPECT_THAT(Text(merge.EndBefore(&again)), ElementsAre("-2"));
  EXPECT_THAT(Text(merge.EndBefore(&again)), IsEmpty());
  EXPECT_THAT(Text(merge.End(again)), ElementsAre("-1"));
  EXPECT_THAT(Text(merge.End(other)), ElementsAre("-3"));
}

// A subscriber that reads slowly gets an end late.
TEST(LiveMergeTest, EndOfAnInstanceIsNotThatOfItsSuccessor) {
  LiveMerge merge;
  LiveMerge::Stream stream = merge.Begin();
  EXPECT_THAT(Text(merge.Add(Values(7, "web-1", 1, {10}), &stream)),
              ElementsAre("1 web-1 10"));
  v1::SubscribeResponse message = Values(9, "web-1", 5, {20});
  message.add_ended(7);
  EXPECT_THAT(Text(merge.Add(message, &stream)), ElementsAre("1 web-1 20"));
  EXPECT_THAT(Text(merge.Add(EndOf(9), &stream)), ElementsAre("-1"));
}

TEST(LiveMergeTest, MergesRawSamples) {
  LiveMerge merge;
  LiveMerge::Stream a = merge.Begin();
  LiveMerge::Stream b = merge.Begin();
  const auto samples = [](std::vector<int64_t> times) {
    v1::SubscribeResponse message = Values(1, "web-1", 0, {0});
    message.clear_points();
    v1::RawSamples* const raw = message.add_raw_samples();
    raw->set_series(1);
    for (const int64_t time : times) {
      raw->add_samples()->set_perf_time_100nsec(time);
    }
    return message;
  };
  const auto times_of = [](const absl::StatusOr<FeedUpdate>& update) {
    EXPECT_OK(update);
    std::vector<int64_t> times;
    for (const SeriesValues& values : update->values) {
      for (const v1::RawSample& sample : values.raw.samples()) {
        times.push_back(sample.perf_time_100nsec());
      }
    }
    return times;
  };
  EXPECT_THAT(times_of(merge.Add(samples({1, 2}), &a)), ElementsAre(1, 2));
  EXPECT_THAT(times_of(merge.Add(samples({1, 2, 3}), &b)), ElementsAre(3));
}

// A clock that shows a time in 200 years loses the values of its machine only.
TEST(LiveMergeTest, LeavesOutTimesThatDoNotFit) {
  LiveMerge merge;
  LiveMerge::Stream stream = merge.Begin();
  v1::SubscribeResponse message = Values(1, "web-1", 6'400'000'000, {1});
  message.MergeFrom(Values(2, "web-2", 1, {2}));
  EXPECT_THAT(Text(merge.Add(message, &stream)), ElementsAre("2 web-2 2"));
}

TEST(LiveMergeTest, RejectsMalformedMessages) {
  const v1::SubscribeResponse sound = Values(1, "web-1", 1, {1, 2});
  std::vector<v1::SubscribeResponse> malformed(7, sound);
  malformed[0].mutable_points(0)->set_series(2);
  malformed[1].mutable_points(0)->add_values(3);
  malformed[2].mutable_points(0)->add_presence(1);
  malformed[3].add_ended(2);
  malformed[4].clear_points();
  malformed[4].add_points()->set_series(1);
  malformed[5].mutable_points(0)->set_values(1, std::nan(""));
  for (const float part : {0.5f, 1.5f}) {
    malformed[6].mutable_points(0)->add_presence(part);
  }
  for (const v1::SubscribeResponse& message : malformed) {
    LiveMerge merge;
    LiveMerge::Stream stream = merge.Begin();
    EXPECT_EQ(merge.Add(message, &stream).status().code(),
              absl::StatusCode::kDataLoss)
        << message.ShortDebugString();
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
