#include "aggregator/query/range_evaluator.h"

#include "tests/support/points_text.h"
#include "tests/support/raw_samples.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using ::testing::ElementsAre;
using testing::FormulaOfType;
using ::testing::IsEmpty;
using testing::SampleAt;
using testing::ToText;
using testing::U64;

constexpr uint32_t kRate = 0x10410500;   // BULK_COUNT
constexpr uint32_t kGauge = 0x00010100;  // LARGE_RAWCOUNT

WindowGrid Grid(double start, double end, double step) {
  return {At(start), At(end), absl::Seconds(step)};
}

TEST(WindowGrid, CountsWholeWindows) {
  EXPECT_EQ(Grid(0, 60, 10).count(), 6);
  EXPECT_EQ(Grid(0, 65, 10).count(), 6);
  EXPECT_EQ(Grid(0, 9, 10).count(), 0);
  EXPECT_EQ(Grid(0, 65, 0).count(), 1);  // one window
  EXPECT_EQ(Grid(0, 0, 10).count(), 0);
  EXPECT_EQ(Grid(5, 0, 10).count(), 0);
  EXPECT_EQ(Grid(0, 65, 0).length(), absl::Seconds(65));
}

TEST(WindowGrid, WindowsIncludeTheirEndOnly) {
  const WindowGrid grid = Grid(0, 65, 10);
  const struct {
    double seconds;
    int64_t window;
  } kCases[] = {{-5, 0},   {0, 0},  {0.1, 1}, {9.9, 1}, {10, 1},
                {10.1, 2}, {60, 6}, {61, 7},  {99, 10}};
  for (const auto& test : kCases) {
    EXPECT_EQ(grid.WindowOf(At(test.seconds)), test.window) << test.seconds;
  }
  EXPECT_EQ(grid.EndOf(1), At(10));
  EXPECT_EQ(grid.EndOf(6), At(60));
  EXPECT_EQ(Grid(5, 65, 0).EndOf(1), At(65));
}

// One series with samples every second.
class Series {
 public:
  Series(uint32_t type, const WindowGrid& grid, Over over = Over::kFormula,
         absl::Duration interval = absl::Seconds(1), bool only_windows = false)
      : evaluator_(FormulaOfType(type), grid, over, only_windows),
        interval_(interval) {}

  Series& Add(double seconds, std::optional<uint64_t> value,
              uint64_t life = testing::kLife) {
    const RawValue raw = value.has_value() ? U64(*value) : RawValue{};
    return Add(SampleAt(seconds, raw, {}, life));
  }
  Series& Add(const RawSample& sample) {
    evaluator_.Add(sample, interval_);
    return *this;
  }
  // Adds samples of a counter that grows by 5 per second.
  Series& AddFrom(int first, int last) {
    for (int t = first; t <= last; ++t) {
      Add(t, static_cast<uint64_t>(1000 + 5 * t));
    }
    return *this;
  }

  std::vector<std::string> Points(bool goes_on = false,
                                  const std::vector<Loss>& losses = {}) const {
    RangeEvaluator evaluator = evaluator_;
    return ToText(evaluator.Finish(goes_on, losses));
  }
  std::string Total() const { return ToText(evaluator_.Total()); }
  const RangeEvaluator& evaluator() const { return evaluator_; }

 private:
  RangeEvaluator evaluator_;
  const absl::Duration interval_;
};

TEST(Windows, AreLabeledByTheirEnds) {
  EXPECT_THAT(Series(kRate, Grid(0, 30, 10)).AddFrom(0, 30).Points(),
              ElementsAre("10: 5", "20: 5", "30: 5"));
}

TEST(Windows, EndAtTheNewestSamplesBeforeTheirEnds) {
  // Every four seconds: the piece from 8 to 12 belongs to the second window.
  Series series(kRate, Grid(0, 20, 10), Over::kFormula, absl::Seconds(4));
  for (const int t : {0, 4, 8, 12, 16, 20}) {
    series.Add(t, static_cast<uint64_t>(t * t));
  }
  EXPECT_THAT(series.Points(),
              ElementsAre("10: 8",     // 64 in the 8 s to 8
                          "20: 28"));  // 336 in the 12 s from 8
}

TEST(Windows, BeginWithTheSampleBeforeTheRange) {
  EXPECT_THAT(Series(kRate, Grid(10, 20, 5)).AddFrom(9, 20).Points(),
              ElementsAre("15: 5", "20: 5"));
  // Without such a sample, the first piece is missing.
  EXPECT_THAT(Series(kRate, Grid(10, 20, 5)).AddFrom(11, 20).Points(),
              ElementsAre("15: 5 coverage=0.8", "20: 5"));
}

TEST(Windows, EndWithTheRange) {
  EXPECT_THAT(Series(kRate, Grid(0, 10, 5)).AddFrom(0, 99).Points(),
              ElementsAre("5: 5", "10: 5"));
}

TEST(Windows, EndWithThePartialRestOfTheRange) {
  EXPECT_THAT(Series(kRate, Grid(0, 12, 5)).AddFrom(0, 99).Points(true),
              ElementsAre("5: 5", "10: 5", "12: 5 partial"));
  // To be combined, series need a rest of 2.5 intervals: in a shorter one, not
  // all of them have samples.
  const auto combined = [](double end) {
    return Series(kRate, Grid(0, end, 5), Over::kFormula, absl::Seconds(1),
                  /*only_windows=*/true)
        .AddFrom(0, 99)
        .Points(true);
  };
  EXPECT_THAT(combined(12.5), ElementsAre("5: 5", "10: 5", "12.5: 5 partial"));
  EXPECT_THAT(combined(12), ElementsAre("5: 5", "10: 5"));
  EXPECT_EQ(Series(kRate, Grid(0, 12, 5)).AddFrom(0, 99).Total(), "5");
  // A rest without a sample is no gap.
  EXPECT_THAT(Series(kRate, Grid(0, 14, 5)).AddFrom(0, 10).Points(true),
              ElementsAre("5: 5", "10: 5"));
}

TEST(Windows, OfYoungDataArePartial) {
  EXPECT_THAT(Series(kRate, Grid(0, 86'400 + 600, 86'400))
                  .AddFrom(86'400, 86'400 + 600)
                  .Points(true),
              ElementsAre("87000: 5 partial"));
}

// A plan changes the interval from 10 s to 1 s and back.
TEST(Windows, CombineSamplesOfShorterIntervalsOnly) {
  const auto change = [](uint32_t type) {
    RangeEvaluator evaluator(FormulaOfType(type), Grid(0, 60, 5),
                             Over::kFormula);
    const auto add = [&](int t, int interval) {
      evaluator.Add(SampleAt(t, U64(static_cast<uint64_t>(1000 + 7 * t)), {}),
                    absl::Seconds(interval));
    };
    for (const int t : {0, 10, 20}) add(t, 10);
    for (int t = 21; t <= 30; ++t) add(t, 1);
    for (const int t : {40, 50, 60}) add(t, 10);
    return ToText(evaluator.Finish(/*goes_on=*/true, {}));
  };
  EXPECT_THAT(change(kRate), ElementsAre("10: 7", "20: 7", "25: 7", "30: 7",
                                         "40: 7", "50: 7", "60: 7"));
  // Means of 21 to 25 and of 26 to 30.
  EXPECT_THAT(change(kGauge),
              ElementsAre("10: 1070", "20: 1140", "25: 1161", "30: 1196",
                          "40: 1280", "50: 1350", "60: 1420"));
}

TEST(Windows, IgnoreSamplesLongBeforeTheRange) {
  // The agent restarted. Its last sample is 3 intervals before the range.
  EXPECT_THAT(Series(kRate, Grid(10, 20, 10))
                  .Add(7, 100, MakeLife(9, 1))
                  .AddFrom(11, 20)
                  .Points(),
              ElementsAre("20: 5 agent_restart breaks=1 coverage=0.9"));
  EXPECT_THAT(Series(kRate, Grid(10, 20, 10))
                  .Add(6.9, 100, MakeLife(9, 1))
                  .AddFrom(11, 20)
                  .Points(),
              ElementsAre("20: 5 coverage=0.9"));
}

TEST(Windows, HaveTheMeanOfEqualValuesExactly) {
  // 1173 hundredths, as a registration with a scale has them.
  CounterFormula formula = FormulaOfType(kGauge);
  formula.scale = -2;
  for (const int count : {3, 10, 59, 1000}) {
    RangeEvaluator evaluator(formula, Grid(0, count, 0), Over::kAverage);
    for (int t = 1; t <= count; ++t) {
      evaluator.Add(SampleAt(t, U64(1173), {}), absl::Seconds(1));
    }
    EXPECT_EQ(evaluator.Total().result.value, 11.73) << count;
  }
}

TEST(Windows, SpanTheFirstToTheLastValue) {
  EXPECT_THAT(Series(kRate, Grid(0, 50, 10)).AddFrom(12, 28).Points(),
              ElementsAre("20: 5 coverage=0.8", "30: 5 coverage=0.8"));
  EXPECT_THAT(Series(kGauge, Grid(0, 50, 10)).Add(15, 7).Points(),
              ElementsAre("20: 7"));
  EXPECT_THAT(Series(kRate, Grid(0, 50, 10)).Points(), IsEmpty());
  EXPECT_THAT(Series(kRate, Grid(0, 50, 10)).AddFrom(60, 70).Points(),
              IsEmpty());
}

TEST(Windows, ShowAGapAtTheEndOnlyIfTheSeriesContinues) {
  const Series series = Series(kRate, Grid(0, 30, 10)).AddFrom(0, 10);
  EXPECT_THAT(series.Points(/*goes_on=*/false), ElementsAre("10: 5"));
  EXPECT_THAT(series.Points(/*goes_on=*/true),
              ElementsAre("10: 5", "20: gap no_samples coverage=0",
                          "30: gap no_samples coverage=0"));
}

TEST(Windows, ShowGapsInBetween) {
  EXPECT_THAT(
      Series(kRate, Grid(0, 40, 10)).AddFrom(0, 10).AddFrom(35, 40).Points(),
      ElementsAre("10: 5", "20: gap no_samples coverage=0",
                  "30: gap no_samples coverage=0",
                  "40: 5 no_samples breaks=1 coverage=0.5"));
}

TEST(Windows, ReportTheLastBreakWithoutSoundSamples) {
  Series series = Series(kRate, Grid(0, 9, 3)).AddFrom(0, 3);
  series.Add(4, 900).Add(5, 899).Add(6, 898, MakeLife(1, 2));
  series.Add(7, 0, MakeLife(2, 1)).Add(8, 5, MakeLife(2, 1));
  EXPECT_THAT(series.Points(),
              ElementsAre("3: 5", "6: gap new_life breaks=3 coverage=0",
                          "9: 5 agent_restart breaks=1 coverage=0.333"));
}

TEST(Windows, HoldAGaugeForTwoIntervals) {
  // Samples every 4 s, some lost, in windows of 5 s.
  Series series(kGauge, Grid(0, 40, 5), Over::kFormula, absl::Seconds(4));
  series.Add(4, 1).Add(8, 3).Add(12, 5).Add(36, 9);
  EXPECT_THAT(series.Points(),
              ElementsAre("5: 1", "10: 3", "15: 5",
                          "20: 5",  // 8 s old: two intervals
                          "25: gap no_samples coverage=0",
                          "30: gap no_samples coverage=0",
                          "35: gap no_samples coverage=0", "40: 9"));
}

TEST(Windows, HoldAGaugeForItsOwnIntervals) {
  RangeEvaluator evaluator(FormulaOfType(kGauge), Grid(0, 20, 5),
                           Over::kFormula);
  evaluator.Add(SampleAt(3, U64(7)), absl::Seconds(4));
  evaluator.Add(SampleAt(18, U64(8)), absl::Seconds(1));  // the plan changed
  EXPECT_THAT(
      ToText(evaluator.Finish(/*goes_on=*/false, {})),
      ElementsAre("5: 7", "10: 7", "15: gap no_samples coverage=0", "20: 8"));
}

TEST(Windows, HoldAGaugeForExactlyTwoAndAHalfIntervals) {
  Series series(kGauge, Grid(0, 30, 5), Over::kFormula, absl::Seconds(4));
  series.Add(10, 3).Add(28, 5);
  EXPECT_THAT(series.Points(),
              ElementsAre("10: 3", "15: 3", "20: 3",
                          "25: gap no_samples coverage=0", "30: 5"));
}

// While the interval was longer than the step, each sample was a point.
TEST(Windows, HaveNoGapsBetweenPoints) {
  RangeEvaluator evaluator(FormulaOfType(kGauge), Grid(0, 40, 2),
                           Over::kFormula);
  for (const int t : {1, 2, 12, 22, 23, 24}) {
    const bool is_point = t == 12 || t == 22;
    evaluator.Add(SampleAt(t, U64(7)), absl::Seconds(is_point ? 10 : 1));
  }
  EXPECT_THAT(ToText(evaluator.Finish(/*goes_on=*/false, {})),
              ElementsAre("2: 7", "12: 7", "22: 7", "24: 7"));
}

TEST(Windows, UseNoMemoryWithoutSamples) {
  const Series series =
      Series(kRate, Grid(0, 100'000, 1), Over::kFormula, absl::Seconds(0.1))
          .AddFrom(0, 2)
          .AddFrom(99'998, 100'000);
  EXPECT_EQ(series.evaluator().held(), 5);  // including the break's
  EXPECT_EQ(series.Points().size(), 100'000);
}

TEST(Windows, AcceptOverlappingEpochs) {
  EXPECT_THAT(Series(kGauge, Grid(0, 50, 10))
                  .Add(5, 1)
                  .Add(25, 3)
                  .Add(15, 7, MakeLife(2, 1))
                  .Add(28, 5, MakeLife(2, 1))
                  .Points(),
              ElementsAre("10: 1", "20: 7", "30: 4"));
}

TEST(Windows, CanBeASingleWindow) {
  const Series series = Series(kRate, Grid(0, 30, 0)).AddFrom(0, 24);
  EXPECT_THAT(series.Points(), ElementsAre("30: 5 coverage=0.8"));
  EXPECT_EQ(series.Total(), "5 coverage=0.8");
  EXPECT_THAT(Series(kRate, Grid(0, 30, 0)).Add(5, 1).Points(),
              ElementsAre("30: need_two_samples coverage=0"));
}

TEST(Windows, CombineByTheRequestedFunction) {
  Series series(kRate, Grid(0, 6, 3), Over::kMaximum);
  series.Add(0, 0).Add(1, 5).Add(2, 6).Add(3, 8).Add(4, 8).Add(5, 9).Add(6, 9);
  EXPECT_THAT(series.Points(), ElementsAre("3: 5", "6: 1"));
  EXPECT_EQ(series.Total(), "5");
}

TEST(Total, IncludesTheIncompleteWindow) {
  EXPECT_EQ(Series(kRate, Grid(0, 14, 10)).AddFrom(0, 99).Total(), "5");
  EXPECT_EQ(Series(kGauge, Grid(0, 14, 10)).Add(12, 7).Total(),
            "7 coverage=0.0714");
  EXPECT_EQ(Series(kRate, Grid(0, 14, 1)).AddFrom(0, 7).Total(),
            "5 coverage=0.5");
  EXPECT_EQ(Series(kRate, Grid(0, 14, 1)).Total(), "gap no_samples coverage=0");
}

TEST(PerSample, YieldsOneValuePerSample) {
  for (const double step : {1.0, 0.5}) {
    EXPECT_THAT(Series(kRate, Grid(10, 13, step)).AddFrom(9, 20).Points(),
                ElementsAre("11: 5", "12: 5", "13: 5"));
    EXPECT_THAT(Series(kGauge, Grid(10, 12, step)).AddFrom(9, 20).Points(),
                ElementsAre("11: 1055", "12: 1060"));
  }
  // A step longer than the samples' interval yields windows.
  EXPECT_THAT(Series(kRate, Grid(10, 14, 2)).AddFrom(9, 20).Points(),
              ElementsAre("12: 5", "14: 5"));
}

TEST(PerSample, IsLabeledWithTheSamplesTime) {
  EXPECT_THAT(Series(kRate, Grid(0, 10, 1)).Add(0.25, 0).Add(1.5, 5).Points(),
              ElementsAre("0.25: need_two_samples", "1.5: 4"));
}

TEST(PerSample, ReportsBreaks) {
  Series series(kRate, Grid(0, 60, 1));
  series.Add(1, 10).Add(2, 5).Add(3, {}).Add(4, 9).Add(5, 10);
  series.Add(9, 50).Add(10, 50, MakeLife(1, 2)).Add(11, 57, MakeLife(1, 2));
  EXPECT_THAT(series.Points(),
              ElementsAre("1: need_two_samples", "2: negative_value",
                          "3: gap no_value", "4: gap no_value", "5: 1",
                          "9: gap no_samples", "10: gap new_life", "11: 7"));
  EXPECT_THAT(Series(kGauge, Grid(0, 60, 1)).Add(1, 10).Add(2, {}).Points(),
              ElementsAre("1: 10", "2: gap no_value"));
}

TEST(PerSample, ShowsAGapBetweenTheSamplesOfAGauge) {
  EXPECT_THAT(
      Series(kGauge, Grid(0, 60, 1)).Add(1, 10).Add(3, 11).Add(6, 12).Points(),
      ElementsAre("1: 10", "3: 11", "4: gap no_samples coverage=0", "6: 12"));
}

TEST(PerSample, UsesTheIntervalOfEachSample) {
  RangeEvaluator evaluator(FormulaOfType(kGauge), Grid(0, 60, 1),
                           Over::kFormula);
  for (const int t : {1, 2, 12, 22}) {
    evaluator.Add(SampleAt(t, U64(7)),
                  t <= 2 ? absl::Seconds(1) : absl::Seconds(10));
  }
  EXPECT_THAT(ToText(evaluator.Finish(/*goes_on=*/false, {})),
              ElementsAre("1: 7", "2: 7", "12: 7", "22: 7"));
}

TEST(PerSample, ShowsAGapAtTheEndIfTheSeriesContinues) {
  const Series series = Series(kRate, Grid(0, 20, 1)).AddFrom(9, 11);
  EXPECT_THAT(series.Points(/*goes_on=*/true),
              ElementsAre("9: need_two_samples", "10: 5", "11: 5",
                          "20: gap no_samples coverage=0"));
  EXPECT_THAT(series.Points(/*goes_on=*/false),
              ElementsAre("9: need_two_samples", "10: 5", "11: 5"));
  // Not yet: the newest sample is two intervals old.
  EXPECT_THAT(Series(kRate, Grid(10, 13, 1)).AddFrom(10, 11).Points(true),
              ElementsAre("11: 5"));
}

Loss LossOf(LossCause cause, double start, double end) {
  return {.start = At(start), .end = At(end), .ticks = 1, .cause = cause};
}

TEST(Gaps, HaveTheCauseOfALossInside) {
  const Series series =
      Series(kRate, Grid(0, 40, 10)).AddFrom(0, 10).AddFrom(35, 40);
  const struct {
    LossCause cause;
    const char* name;
  } kCases[] = {{LossCause::kUnknown, "no_samples"},
                {LossCause::kSpoolFull, "spool_full"},
                {LossCause::kSpoolExpired, "spool_expired"},
                {LossCause::kSpoolDamaged, "spool_damaged"},
                {LossCause::kDiskFull, "disk_full"},
                {LossCause::kPowerCut, "power_cut"},
                {LossCause::kStoreDamaged, "store_damaged"},
                {LossCause::kRejected, "rejected"},
                {LossCause::kOverrun, "overrun"},
                {LossCause::kSourceFailed, "no_value"}};
  for (const auto& test : kCases) {
    EXPECT_THAT(series.Points(false, {LossOf(test.cause, 21, 29)}),
                ElementsAre("10: 5", "20: gap no_samples coverage=0",
                            absl::StrCat("30: gap ", test.name, " coverage=0"),
                            "40: 5 no_samples breaks=1 coverage=0.5"));
  }
}

TEST(Gaps, HaveTheCauseOfAnOverlappingLoss) {
  const Series series =
      Series(kRate, Grid(0, 40, 10)).AddFrom(0, 10).AddFrom(35, 40);
  const auto causes = [&](double start, double end) {
    const auto points =
        series.Points(false, {LossOf(LossCause::kOverrun, start, end)});
    return points[1] + points[2];
  };
  constexpr const char* kNone =
      "20: gap no_samples coverage=030: gap no_samples coverage=0";
  EXPECT_EQ(causes(0, 10), kNone);  // the first is (10, 20]
  EXPECT_EQ(causes(31, 34), kNone);
  EXPECT_EQ(causes(5, 11),
            "20: gap overrun coverage=030: gap no_samples coverage=0");
  EXPECT_EQ(causes(20, 20),
            "20: gap overrun coverage=030: gap no_samples coverage=0");
  EXPECT_EQ(causes(20, 25),
            "20: gap overrun coverage=030: gap overrun coverage=0");
}

TEST(Gaps, BetweenSamplesAndAtTheEndHaveCauses) {
  const std::vector<Loss> losses = {LossOf(LossCause::kOverrun, 3, 6),
                                    LossOf(LossCause::kSpoolFull, 12, 18)};
  EXPECT_THAT(Series(kRate, Grid(0, 20, 1))
                  .AddFrom(1, 2)
                  .AddFrom(7, 8)
                  .Points(/*goes_on=*/true, losses),
              ElementsAre("1: need_two_samples", "2: 5", "7: gap overrun",
                          "8: 5", "20: gap spool_full coverage=0"));
}

TEST(Gaps, KeepAKnownCause) {
  Series series(kRate, Grid(0, 20, 1));
  series.Add(1, 10).Add(2, 11, MakeLife(1, 2)).Add(3, 5, MakeLife(1, 2));
  EXPECT_THAT(series.Points(false, {LossOf(LossCause::kOverrun, 0, 20)}),
              ElementsAre("1: need_two_samples", "2: gap new_life",
                          "3: negative_value"));
}

TEST(RangeEvaluator, KnowsItsNewestSample) {
  EXPECT_EQ(Series(kRate, Grid(0, 20, 1)).evaluator().newest(), std::nullopt);
  EXPECT_EQ(Series(kRate, Grid(0, 20, 1)).AddFrom(1, 7).evaluator().newest(),
            At(7));
  // Samples after the range do not count.
  EXPECT_EQ(Series(kRate, Grid(0, 5, 1)).AddFrom(1, 7).evaluator().newest(),
            At(5));
}

// After a step back of the clock, sequences define the order, not times.
TEST(RangeEvaluator, AssignsValuesToWindowsByTime) {
  Series series(kRate, Grid(0, 20, 10));
  series.AddFrom(0, 18);
  for (int t = 9; t <= 12; ++t) {
    RawSample sample = SampleAt(t, U64(static_cast<uint64_t>(2000 + 7 * t)));
    sample.clocks.perf_time_stamp += 10 * testing::kFreq;  // continues
    series.Add(sample);
  }
  EXPECT_THAT(series.Points(),
              ElementsAre("10: 5.181818 clock_step breaks=1", "20: 5.4"));
}

TEST(PerSample, IsInTheOrderOfTimes) {
  // The clock was set back after 6 s.
  EXPECT_THAT(
      Series(kGauge, Grid(0, 20, 1)).Add(5, 1).Add(6, 2).Add(3.5, 3).Points(),
      ElementsAre("3.5: 3", "5: 1", "6: 2"));
}

TEST(Windows, GoOnAfterASampleOfAnEarlierWindow) {
  RangeEvaluator evaluator(FormulaOfType(kGauge), Grid(0, 45, 5),
                           Over::kFormula);
  evaluator.Add(SampleAt(31, U64(1)), absl::Seconds(1));
  evaluator.Add(SampleAt(39, U64(2)), absl::Seconds(10));
  // The clock was set back, and the plan changed again.
  evaluator.Add(SampleAt(26, U64(3)), absl::Seconds(1));
  EXPECT_THAT(
      ToText(evaluator.Finish(/*goes_on=*/true, {})),
      ElementsAre("30: 3", "35: 1", "39: 2", "40: gap no_samples coverage=0",
                  "45: gap no_samples coverage=0"));
}

}  // namespace
}  // namespace fleetperf::aggregator
