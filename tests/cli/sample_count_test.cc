// The samples that `fleetperf watch --count` waits for.

#include "cli/sample_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);

// Builds a message: its values are the seconds of their samples.
class Message {
 public:
  Message& Series(uint32_t id) {
    response_.add_series()->set_id(id);
    return *this;
  }
  Message& Points(uint32_t id, const std::vector<int>& seconds) {
    v1::Points* const points = response_.add_points();
    points->set_series(id);
    int last = 0;
    for (const int second : seconds) {
      points->add_time_unix_nanos(absl::ToUnixNanos(
          points->values().empty()
              ? kStart + absl::Seconds(second)
              : absl::UnixEpoch() + absl::Seconds(second - last)));
      points->add_values(second);
      points->add_presence(0.5F);
      last = second;
    }
    return *this;
  }
  Message& End(uint32_t id) {
    response_.add_ended(id);
    return *this;
  }
  Message& HistorySent() {
    response_.set_history_sent(true);
    return *this;
  }
  v1::SubscribeResponse Build() const { return response_; }

 private:
  v1::SubscribeResponse response_;
};

// Returns "1:5" for the value 5 of series 1.
std::vector<std::string> ValuesOf(const v1::SubscribeResponse& message) {
  std::vector<std::string> values;
  for (const v1::Points& points : message.points()) {
    for (const double value : points.values()) {
      values.push_back(absl::StrCat(points.series(), ":", value));
    }
  }
  return values;
}

TEST(SplitBySample, HasOneSampleOfEachSeriesInAPart) {
  const auto parts = SplitBySample(Message()
                                       .Series(1)
                                       .Series(2)
                                       .Points(1, {1, 2})
                                       .Points(2, {1})
                                       .Points(1, {3})
                                       .End(2)
                                       .HistorySent()
                                       .Build());
  ASSERT_THAT(parts, SizeIs(3));
  EXPECT_THAT(parts[0].series(), SizeIs(2));
  EXPECT_THAT(ValuesOf(parts[0]), ElementsAre("1:1", "2:1"));
  EXPECT_THAT(ValuesOf(parts[1]), ElementsAre("1:2"));
  EXPECT_THAT(ValuesOf(parts[2]), ElementsAre("1:3"));
  EXPECT_EQ(parts[1].points(0).time_unix_nanos(0),
            absl::ToUnixNanos(kStart + absl::Seconds(2)));
  EXPECT_THAT(parts[1].points(0).presence(), ElementsAre(0.5F));
  EXPECT_THAT(parts[1].ended(), IsEmpty());
  EXPECT_THAT(parts[2].ended(), ElementsAre(2));
  EXPECT_TRUE(parts[2].history_sent());
}

TEST(SplitBySample, SplitsRawSamples) {
  v1::SubscribeResponse message;
  v1::RawSamples* const raw = message.add_raw_samples();
  raw->set_series(1);
  raw->add_samples()->set_value(7);
  raw->add_samples()->set_value(8);
  const auto parts = SplitBySample(message);
  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_EQ(parts[1].raw_samples(0).series(), 1u);
  EXPECT_EQ(parts[1].raw_samples(0).samples(0).value(), 8u);
}

class SampleCountTest : public ::testing::Test {
 protected:
  // Adds a message of at most one sample of each series that arrives at this
  // second. Returns the values that are shown.
  std::vector<std::string> Add(const Message& message, int second) {
    v1::SubscribeResponse response = message.Build();
    const absl::Time now = kStart + absl::Seconds(second);
    count_.Add(&response, now);
    rounds_ = count_.CompleteRounds(now);
    return ValuesOf(response);
  }

  SampleCount count_{2};
  uint32_t rounds_ = 0;
};

TEST_F(SampleCountTest, WaitsForAllSeriesAndShowsNoFurtherSample) {
  EXPECT_THAT(Add(Message().Series(1).Points(1, {0}), 0), ElementsAre("1:0"));
  EXPECT_EQ(rounds_, 0u);  // other series may be stored
  Add(Message().Series(2).Points(2, {0}).HistorySent(), 0);
  EXPECT_EQ(rounds_, 1u);
  EXPECT_THAT(Add(Message().Points(1, {1}), 1), ElementsAre("1:1"));
  EXPECT_EQ(rounds_, 1u);
  EXPECT_THAT(Add(Message().Points(1, {2}), 2), IsEmpty());
  EXPECT_EQ(rounds_, 1u);
  EXPECT_THAT(Add(Message().Points(2, {2}), 2), ElementsAre("2:2"));
  EXPECT_EQ(rounds_, 2u);
}

TEST_F(SampleCountTest, DoesNotWaitForLateOrEndedSeries) {
  // Series 2 is of a machine that stopped long ago, 3 stops, 4 ends.
  Add(Message().Series(2).Points(2, {-3600}), 0);
  Add(Message()
          .Series(1)
          .Series(3)
          .Series(4)
          .Points(1, {0})
          .Points(3, {0})
          .Points(4, {0})
          .HistorySent(),
      0);
  EXPECT_EQ(rounds_, 1u);
  Add(Message().Points(1, {1}).End(4), 1);
  EXPECT_EQ(rounds_, 1u);
  Add(Message().Points(1, {2}), 2);
  EXPECT_EQ(rounds_, 1u);
  Add(Message().Points(1, {600}), 600);
  EXPECT_EQ(rounds_, 2u);
}

TEST_F(SampleCountTest, ASeriesThatBeginsTakesPartInTheRemainingRounds) {
  Add(Message().Series(1).Points(1, {0}).HistorySent(), 0);
  EXPECT_EQ(rounds_, 1u);
  EXPECT_THAT(Add(Message().Series(2).Points(2, {1}), 1), ElementsAre("2:1"));
  EXPECT_EQ(rounds_, 1u);
  Add(Message().Points(1, {1}), 1);
  EXPECT_EQ(rounds_, 2u);
}

// The clock of a machine does not matter while its samples arrive.
TEST(SampleTimes, AreLateAfterThreeAndAHalfIntervals) {
  SampleTimes times;
  const absl::Time first = kStart - absl::Hours(1);
  times.Add(first, kStart);
  EXPECT_TRUE(times.IsLate(kStart));
  times.Add(first + absl::Seconds(2), kStart);
  // Two seconds apart, and 15 s on the way.
  EXPECT_FALSE(times.IsLate(kStart + absl::Seconds(22)));
  EXPECT_TRUE(times.IsLate(kStart + absl::Seconds(23)));
}

}  // namespace
}  // namespace fleetperf::cli
