// Falls and returns of counters: docs/reference/query-rules.md.

#include "values/series_end.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "perflib/counter_type.h"
#include "tests/support/raw_samples.h"

namespace fleetperf {
namespace {

using ::testing::ElementsAre;
using testing::FormulaOfType;
using testing::kAverageBulk;
using testing::SampleAt;
using testing::U32;
using testing::U64;

constexpr uint32_t kRate = perflib::kPerfCounterBulkCount;

// Takes samples a second apart, and returns the values of their pieces.
std::vector<std::string> ValuesOf(uint32_t type,
                                  const std::vector<RawSample>& samples) {
  const CounterFormula formula = FormulaOfType(type);
  SeriesEnd end;
  std::vector<std::string> values;
  for (const RawSample& sample : samples) {
    const auto piece = end.PieceTo(formula, sample, absl::Seconds(1));
    end.MoveTo(sample);
    if (!piece.has_value()) continue;
    const CalculatedValue value = ValueOfSample(formula, sample, piece);
    values.push_back(value.ok() ? absl::StrFormat("%.7g", value.value)
                                : std::string(StatusName(value.status)));
  }
  return values;
}

std::vector<std::string> RatesOf(const std::vector<uint64_t>& values) {
  std::vector<RawSample> samples;
  for (const uint64_t value : values) {
    samples.push_back(
        SampleAt(static_cast<double>(samples.size()), U64(value)));
  }
  return ValuesOf(kRate, samples);
}

// Bytes 10^12 + 100 i and times 10^10 + 5 * 10^6 i in 100 ns, both 0 once.
TEST(SeriesEnd, ADipToZeroIsTwoBreaks) {
  EXPECT_THAT(RatesOf({1'000'000'000'000, 1'000'000'000'100, 0,
                       1'000'000'000'300, 1'000'000'000'400}),
              ElementsAre("100", "negative_value", "negative_value", "100"));
  EXPECT_THAT(ValuesOf(testing::kTimer100Ns,
                       {SampleAt(0, U64(10'000'000'000)), SampleAt(1, U64(0)),
                        SampleAt(2, U64(10'010'000'000)),
                        SampleAt(3, U64(10'015'000'000))}),
              ElementsAre("negative_value", "negative_value", "50"));
}

TEST(SeriesEnd, AReturnToTheSameValueOrFromPartOfItIsABreak) {
  EXPECT_THAT(RatesOf({1000, 0, 1000, 1000}),
              ElementsAre("negative_value", "negative_value", "0"));
  EXPECT_THAT(RatesOf({1000, 600, 1005, 1010}),
              ElementsAre("negative_value", "negative_value", "5"));
}

TEST(SeriesEnd, ADipOfSeveralTicksReturns) {
  EXPECT_THAT(
      RatesOf({1000, 0, 0, 0, 0, 1050, 1060}),
      ElementsAre("negative_value", "0", "0", "0", "negative_value", "10"));
}

TEST(SeriesEnd, DipsInSuccessionReturnEachTime) {
  EXPECT_THAT(RatesOf({1000, 0, 1020, 0, 1040, 1050}),
              ElementsAre("negative_value", "negative_value", "negative_value",
                          "negative_value", "10"));
  // The second fall is from 500.
  EXPECT_THAT(
      RatesOf({1000, 500, 0, 700, 800}),
      ElementsAre("negative_value", "negative_value", "negative_value", "100"));
}

TEST(SeriesEnd, AResetIsOneBreak) {
  EXPECT_THAT(RatesOf({1000, 5, 25, 45}),
              ElementsAre("negative_value", "20", "20"));
  // Growth beyond the value before the reset is no return after other growth.
  EXPECT_THAT(RatesOf({1000, 0, 0, 10, 2010, 2020}),
              ElementsAre("negative_value", "0", "10", "2000", "10"));
}

TEST(SeriesEnd, AReturnIsWithinFiveAndAHalfIntervals) {
  EXPECT_THAT(RatesOf({1000, 0, 0, 0, 0, 1001}),  // 5 s after the 1000
              ElementsAre("negative_value", "0", "0", "0", "negative_value"));
  EXPECT_THAT(RatesOf({1000, 0, 0, 0, 0, 0, 1001}),
              ElementsAre("negative_value", "0", "0", "0", "0", "1001"));
}

TEST(SeriesEnd, OtherBreaksEndAFall) {
  EXPECT_THAT(ValuesOf(kRate, {SampleAt(0, U64(1000)), SampleAt(1, U64(0)),
                               SampleAt(2, {}), SampleAt(3, U64(0)),
                               SampleAt(4, U64(2000))}),
              ElementsAre("negative_value", "gap", "gap", "2000"));
  const uint64_t other = MakeLife(1, 2);
  EXPECT_THAT(ValuesOf(kRate, {SampleAt(0, U64(1000)), SampleAt(1, U64(0)),
                               SampleAt(2, U64(0), {}, other),
                               SampleAt(3, U64(2000), {}, other)}),
              ElementsAre("negative_value", "gap", "2000"));
}

// A base that grows by 3000 after a gap did not return.
TEST(SeriesEnd, OtherBreaksEndAFallOfTheBase) {
  EXPECT_THAT(ValuesOf(kAverageBulk,
                       {SampleAt(0, U64(5000), U64(1000)),
                        SampleAt(1, U64(5000), U64(0)), SampleAt(2, {}, U64(0)),
                        SampleAt(3, U64(5000), U64(0)),
                        SampleAt(4, U64(8000), U64(3000))}),
              ElementsAre("negative_denominator", "gap", "gap", "1"));
}

// The base of 4 bytes wraps while N falls, and then grows by 2^32 - 5.
TEST(SeriesEnd, AWrapOfTheBaseIsNotAFall) {
  EXPECT_THAT(
      ValuesOf(kAverageBulk, {SampleAt(0, U64(1000), U32(4'294'967'290)),
                              SampleAt(1, U64(900), U32(4)),
                              SampleAt(2, U64(950), U32(4'294'967'295))}),
      ElementsAre("negative_value", "1.164153e-08"));
}

TEST(SeriesEnd, FollowsTheBaseToo) {
  // N and D fall together, and only D.
  EXPECT_THAT(ValuesOf(kAverageBulk, {SampleAt(0, U64(5000), U64(100)),
                                      SampleAt(1, U64(0), U64(0)),
                                      SampleAt(2, U64(5100), U64(110)),
                                      SampleAt(3, U64(5200), U64(120))}),
              ElementsAre("negative_value", "negative_value", "10"));
  EXPECT_THAT(
      ValuesOf(
          kAverageBulk,
          {SampleAt(0, U64(5000), U64(100)), SampleAt(1, U64(5050), U64(0)),
           SampleAt(2, U64(5100), U64(110)), SampleAt(3, U64(5200), U64(120))}),
      ElementsAre("negative_denominator", "negative_denominator", "10"));
}

TEST(SeriesEnd, AWrapIsNotAFall) {
  RawValue before = U32(4'294'967'290);
  RawValue after = U32(4);
  before.wraps = after.wraps = true;
  RawValue later = U32(4'294'967'295);
  later.wraps = true;
  EXPECT_THAT(
      ValuesOf(perflib::kPerfCounterCounter,
               {SampleAt(0, before), SampleAt(1, after), SampleAt(2, later)}),
      ElementsAre("10", "4.294967e+09"));
}

// Of thinned data, the value before the fall is unknown.
TEST(SeriesEnd, GrowthAfterAFallFromAnUnknownValueIsABreak) {
  const CounterFormula formula = FormulaOfType(kRate);
  SeriesEnd end;
  end.Set(SampleAt(0, U64(7)), /*has_fallen=*/true);
  EXPECT_TRUE(end.has_fallen());
  const auto grows_to = [&](double seconds, uint64_t value) {
    const RawSample sample = SampleAt(seconds, U64(value));
    const auto piece = end.PieceTo(formula, sample, absl::Seconds(1));
    end.MoveTo(sample);
    return piece->sound();
  };
  EXPECT_TRUE(grows_to(1, 7));
  EXPECT_FALSE(grows_to(2, 9));
  EXPECT_FALSE(end.has_fallen());
  EXPECT_TRUE(grows_to(3, 11));
}

// Most counters fall to 0.
TEST(SeriesEnd, AFallFromAnUnknownValueMayBeToZero) {
  const CounterFormula formula = FormulaOfType(kRate);
  SeriesEnd end;
  end.Set(SampleAt(0, U64(0)), /*has_fallen=*/true);
  EXPECT_TRUE(end.has_fallen());
  EXPECT_FALSE(
      end.PieceTo(formula, SampleAt(1, U64(9)), absl::Seconds(1))->sound());
}

TEST(SeriesEnd, AFallEndsAfterFiveAndAHalfIntervals) {
  const CounterFormula formula = FormulaOfType(kRate);
  SeriesEnd end;
  end.Set(SampleAt(0, U64(1000)));
  for (int seconds = 1; seconds <= 6; ++seconds) {
    const RawSample sample = SampleAt(seconds, U64(0));
    end.PieceTo(formula, sample, absl::Seconds(1));
    end.MoveTo(sample);
    EXPECT_EQ(end.has_fallen(), seconds <= 5) << seconds;
  }
}

}  // namespace
}  // namespace fleetperf
