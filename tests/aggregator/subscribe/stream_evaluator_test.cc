#include "aggregator/subscribe/stream_evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perflib/counter_type.h"
#include "tests/support/points_text.h"
#include "tests/support/raw_samples.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using testing::FormulaOfType;
using testing::SampleAt;
using testing::ToText;
using testing::U64;

constexpr absl::Duration kEachSecond = absl::Seconds(1);

// Returns the values of consecutive samples.
class Stream {
 public:
  Stream(uint32_t type, absl::Duration interval)
      : evaluator_(FormulaOfType(type), interval) {}

  std::vector<std::string> Add(const std::vector<RawSample>& samples,
                               absl::Duration sampling_interval = kEachSecond) {
    std::vector<std::string> points;
    for (const RawSample& sample : samples) {
      walker_.TakeSample(evaluator_.formula(), sample, sampling_interval,
                         &series_, [&](const WalkedSample& walked) {
                           const auto point = evaluator_.Add(walked);
                           if (point.has_value()) {
                             points.push_back(ToText(*point));
                           }
                         });
    }
    return points;
  }

 private:
  StreamEvaluator evaluator_;
  Walker walker_;
  WalkedSeries series_;
};

TEST(StreamEvaluator, YieldsAValuePerSample) {
  Stream gauge(perflib::kPerfCounterLargeRawcount, absl::ZeroDuration());
  EXPECT_THAT(gauge.Add({SampleAt(1, U64(5)), SampleAt(2, U64(7))}),
              ElementsAre("1: 5", "2: 7"));
  Stream rate(perflib::kPerfCounterBulkCount, absl::ZeroDuration());
  EXPECT_THAT(rate.Add({SampleAt(1, U64(100)), SampleAt(2, U64(110)),
                        SampleAt(3, U64(140))}),
              ElementsAre("2: 10", "3: 30"));
}

// The remote agent continues, and so does its epoch.
TEST(StreamEvaluator, AcceptsAMachineRestart) {
  const auto after = [](double seconds, uint64_t value) {
    RawSample sample = SampleAt(seconds, U64(value));
    sample.clocks.perf_time_stamp =
        static_cast<int64_t>(seconds - 100) * testing::kFreq;
    return sample;
  };
  Stream rate(perflib::kPerfCounterBulkCount, absl::ZeroDuration());
  EXPECT_THAT(rate.Add({SampleAt(99, U64(900)), SampleAt(100, U64(907)),
                        after(101, 5), after(102, 9)}),
              ElementsAre("100: 7", "101: gap clock_step", "102: 4"));
  Stream gauge(perflib::kPerfCounterLargeRawcount, absl::ZeroDuration());
  EXPECT_THAT(gauge.Add({SampleAt(100, U64(7)), after(101, 5)}),
              ElementsAre("100: 7", "101: 5"));
}

TEST(StreamEvaluator, ReportsWhyThereIsNoValue) {
  Stream rate(perflib::kPerfCounterBulkCount, absl::ZeroDuration());
  EXPECT_THAT(rate.Add({SampleAt(1, U64(100)), SampleAt(2, U64(40)),
                        SampleAt(3, U64(50)), SampleAt(9, U64(60)),
                        SampleAt(10, U64(5), {}, MakeLife(1, 2)),
                        SampleAt(11, U64(8), {}, MakeLife(1, 2))}),
              ElementsAre("2: negative_value", "3: 10", "9: gap no_samples",
                          "10: gap new_life", "11: 3"));
}

TEST(StreamEvaluator, ACounterThatReturnsAfterAFallHasNotGrown) {
  Stream rate(perflib::kPerfCounterBulkCount, absl::ZeroDuration());
  EXPECT_THAT(rate.Add({SampleAt(1, U64(1000)), SampleAt(2, U64(0)),
                        SampleAt(3, U64(1020)), SampleAt(4, U64(1030))}),
              ElementsAre("2: negative_value", "3: negative_value", "4: 10"));
}

TEST(StreamEvaluator, AcceptsAnAgentRestart) {
  // The agent has another epoch, and its machine may have restarted.
  Stream gauge(perflib::kPerfCounterLargeRawcount, absl::ZeroDuration());
  EXPECT_THAT(gauge.Add({SampleAt(100, U64(1), {}, MakeLife(1, 1)),
                         SampleAt(50, U64(2), {}, MakeLife(2, 1))}),
              ElementsAre("100: 1", "50: 2"));
}

TEST(StreamEvaluator, CombinesSamplesWithinAnInterval) {
  std::vector<RawSample> samples;
  for (int t = 0; t <= 21; ++t) {
    samples.push_back(SampleAt(t, U64(static_cast<uint64_t>(t) * t)));
  }
  // Windows end at multiples of the interval, and a sample at the end belongs
  // to it. From 0 to 10, t*t grows by 100; from 10 to 20 by 300.
  Stream rate(perflib::kPerfCounterBulkCount, absl::Seconds(10));
  EXPECT_THAT(rate.Add(samples), ElementsAre("10: 10", "20: 30"));
  // The mean of 1, 4 ... 100 is 38.5; that of 121, 144 ... 400 is 248.5.
  Stream gauge(perflib::kPerfCounterLargeRawcount, absl::Seconds(10));
  EXPECT_THAT(gauge.Add(samples), ElementsAre("0: 0", "10: 38.5", "20: 248.5"));
}

TEST(StreamEvaluator, YieldsAValuePerSampleAtTheirInterval) {
  Stream rate(perflib::kPerfCounterBulkCount, absl::Seconds(10));
  EXPECT_THAT(rate.Add({SampleAt(3, U64(0)), SampleAt(13, U64(50)),
                        SampleAt(23, U64(70))},
                       absl::Seconds(10)),
              ElementsAre("13: 5", "23: 2"));
}

}  // namespace
}  // namespace fleetperf::aggregator
