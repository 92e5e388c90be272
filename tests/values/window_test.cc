#include "values/window.h"

#include "perflib/counter_type.h"
#include "tests/support/exact.h"
#include "tests/support/points_text.h"
#include "tests/support/raw_samples.h"
#include "tests/support/status_matchers.h"
#include "values/clock_check.h"
#include "values/piece.h"

namespace fleetperf {
namespace {

using testing::ClocksAt;
using testing::FormulaOfType;
using testing::kAverageBulk;
using testing::kFreq;
using testing::kTimer100Ns;
using testing::Quotient;
using testing::SampleAt;
using testing::ToText;
using testing::U32;
using testing::U64;

constexpr uint32_t kBulkCount = 0x10410500;  // BULK_COUNT
constexpr uint32_t kGauge = 0x00010100;      // LARGE_RAWCOUNT
constexpr uint32_t kElapsed = 0x30240500;    // ELAPSED_TIME

constexpr absl::Duration kInterval = absl::Seconds(1);

// Returns the sample with its time of day shifted.
RawSample Stepped(RawSample sample, absl::Duration by) {
  sample.clocks.perf_time_100nsec += by / absl::Nanoseconds(100);
  return sample;
}

TEST(MakePiece, IsSoundWithoutAProblem) {
  const RawSample older = SampleAt(10, U64(100));
  const RawSample newer = SampleAt(11, U64(105));
  const auto with = [&](auto change) {
    RawSample sample = newer;
    change(sample);
    return sample;
  };
  const struct {
    const char* name;
    RawSample newer;
    const char* problem;
  } kCases[] = {
      {"nothing", newer, "ok"},
      {"no growth", SampleAt(11, U64(100)), "ok"},
      {"reset", SampleAt(11, U64(99)), "negative_value"},
      {"two intervals", SampleAt(12, U64(105)), "ok"},
      {"late tick", SampleAt(12.4, U64(105)), "ok"},
      {"three intervals", SampleAt(13, U64(105)), "gap no_samples"},
      {"step forwards", Stepped(newer, absl::Seconds(10)), "gap clock_step"},
      {"step back", Stepped(newer, absl::Seconds(-10)), "gap clock_step"},
      {"new life", with([](auto& s) { s.life = MakeLife(1, 2); }),
       "gap new_life"},
      {"agent restart", with([](auto& s) { s.life = MakeLife(2, 1); }),
       "gap agent_restart"},
      {"no value", with([](auto& s) { s.value = {}; }), "gap no_value"},
      {"other frequency", with([](auto& s) { s.clocks.perf_freq += 1; }),
       "gap clock_step"},
      // A new life has its own counters, which do not count as falling.
      {"new life below the old", SampleAt(11, U64(0), {}, MakeLife(1, 2)),
       "gap new_life"},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    const Piece piece =
        MakePiece(FormulaOfType(kBulkCount), older, test.newer, kInterval);
    EXPECT_EQ(ToText(WindowValue{.result = piece.problem}),
              piece.sound() ? "0" : test.problem);
    EXPECT_EQ(piece.sound(), test.problem == std::string("ok"));
  }
  EXPECT_EQ(
      MakePiece(FormulaOfType(kBulkCount), SampleAt(10, {}), newer, kInterval)
          .problem,
      CalculatedValue::Gap(GapCause::kNoValue));
}

// Windows' time of day ticks 64 times a second. Clocks are slewed, and are not
// read at the same instant.
// Both counters of a mean grew from 0.
TEST(BeforeBirth, HasCountersAtZero) {
  const RawSample first = SampleAt(5, U64(70), U64(7));
  const Piece piece =
      MakePiece(FormulaOfType(kAverageBulk), BeforeBirth(first, ClocksAt(4)),
                first, kInterval);
  EXPECT_TRUE(piece.sound());
  EXPECT_EQ(piece.growth.value, 70);
  EXPECT_EQ(piece.growth.denominator, 7);
  EXPECT_EQ(piece.start, testing::At(4));
  EXPECT_EQ(piece.length, absl::Seconds(1));
}

TEST(MakePiece, ToleratesClockDifferenceOf50MsPlusOnePercent) {
  const CounterFormula formula = FormulaOfType(kBulkCount);
  const RawSample older = SampleAt(0, U64(1));
  const struct {
    double seconds;
    int tolerated_ms;
  } kCases[] = {{1, 60}, {10, 150}};
  for (const auto& test : kCases) {
    const RawSample newer = SampleAt(test.seconds, U64(2));
    for (const int sign : {1, -1}) {
      const auto step = sign * absl::Milliseconds(test.tolerated_ms);
      const auto more = sign * absl::Milliseconds(1);
      const absl::Duration interval = absl::Seconds(test.seconds);
      EXPECT_TRUE(
          MakePiece(formula, older, Stepped(newer, step - more), interval)
              .sound());
      EXPECT_EQ(MakePiece(formula, older, Stepped(newer, step + more), interval)
                    .problem,
                CalculatedValue::Gap(GapCause::kClockStep));
    }
  }
}

TEST(MakePiece, UsesTheMonotonicClockForItsLength) {
  const Piece piece = MakePiece(
      FormulaOfType(kBulkCount), SampleAt(0, U64(1)),
      Stepped(SampleAt(1.5, U64(2)), absl::Milliseconds(40)), kInterval);
  EXPECT_TRUE(piece.sound());
  EXPECT_EQ(piece.length, absl::Seconds(1.5));
}

TEST(MakePiece, ReportsMissingFrequencyIfTheFormulaNeedsIt) {
  for (const int64_t freq : {int64_t{0}, int64_t{-kFreq}}) {
    RawSample older = SampleAt(0, U64(1));
    RawSample newer = SampleAt(1, U64(2));
    older.clocks.perf_freq = newer.clocks.perf_freq = freq;
    EXPECT_EQ(
        MakePiece(FormulaOfType(kBulkCount), older, newer, kInterval).problem,
        CalculatedValue::Of(ValueStatus::kBadFrequency));
    const Piece timer =
        MakePiece(FormulaOfType(kTimer100Ns), older, newer, kInterval);
    EXPECT_TRUE(timer.sound());
    EXPECT_EQ(timer.length, absl::Seconds(1));
  }
}

// Returns the value of a window of this length that starts at kStart.
WindowValue Evaluate(uint32_t type, Over over,
                     const std::vector<RawSample>& samples,
                     absl::Duration window) {
  const CounterFormula formula = FormulaOfType(type);
  WindowAccumulator accumulator;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!formula.uses_two_samples()) {
      accumulator.AddSample(formula, over, samples[i]);
    } else if (i > 0) {
      accumulator.AddPiece(
          formula, over,
          MakePiece(formula, samples[i - 1], samples[i], kInterval));
    }
  }
  return accumulator.Finish(formula, over, testing::kStart + window, window);
}

TEST(Window, IsTheFormulaOverTotalGrowthNotAMeanOfRatios) {
  // 10 operations of 1 byte, then 1 of 100: 110 bytes in 11 operations.
  const WindowValue value =
      Evaluate(kAverageBulk, Over::kFormula,
               {SampleAt(0, U64(0), U32(0)), SampleAt(1, U64(10), U32(10)),
                SampleAt(2, U64(110), U32(11))},
               absl::Seconds(2));
  EXPECT_EQ(value.result, CalculatedValue::Of(10));
  EXPECT_EQ(value.breaks, 0);
  EXPECT_EQ(value.coverage, 1);
}

TEST(Window, IsExactOverAnHour) {
  std::vector<RawSample> samples;
  uint64_t count = uint64_t{1} << 60;
  const uint64_t first = count;
  for (int i = 0; i <= 3600; ++i) {
    samples.push_back(SampleAt(i, U64(count)));
    count += static_cast<uint64_t>(i) * 1'000'003;
  }
  const uint64_t grown = samples.back().value.value - first;
  EXPECT_EQ(
      Evaluate(kBulkCount, Over::kFormula, samples, absl::Hours(1)).result,
      CalculatedValue::Of(Quotient(grown, 3600)));
}

TEST(Window, BreakCostsOnlyItsOwnPiece) {
  const auto samples = [](auto change) {
    std::vector<RawSample> all;
    for (int i = 0; i <= 10; ++i) all.push_back(SampleAt(i, U64(10 * i)));
    change(all);
    return all;
  };
  // The fifth piece has a problem, and the rest is sound. Its growth of 1000
  // must not count.
  const auto from_fifth = [&](auto change) {
    return samples([&](std::vector<RawSample>& all) {
      for (size_t i = 5; i < all.size(); ++i) {
        all[i].value.value += 1000;
        change(all[i]);
      }
    });
  };
  const struct {
    const char* name;
    std::vector<RawSample> samples;
    double window;
    const char* expected;
  } kCases[] = {
      {"none", samples([](auto&) {}), 10, "10"},
      {"reset", samples([](auto& all) {
         for (size_t i = 5; i < all.size(); ++i) all[i].value.value -= 45;
       }),
       10, "10 reset breaks=1 coverage=0.9"},
      {"step forwards",
       from_fifth([](auto& s) { s = Stepped(s, absl::Minutes(1)); }), 10,
       "10 clock_step breaks=1 coverage=0.9"},
      {"step back",
       from_fifth([](auto& s) { s = Stepped(s, absl::Minutes(-1)); }), 10,
       "10 clock_step breaks=1 coverage=0.9"},
      {"new life", from_fifth([](auto& s) { s.life = MakeLife(1, 2); }), 10,
       "10 new_life breaks=1 coverage=0.9"},
      {"agent restart", from_fifth([](auto& s) { s.life = MakeLife(2, 1); }),
       10, "10 agent_restart breaks=1 coverage=0.9"},
      {"no value, which two pieces need",
       samples([](auto& all) { all[5].value = {}; }), 10,
       "10 no_value breaks=2 coverage=0.8"},
      {"gap", samples([](auto& all) {
         all.erase(all.begin() + 4, all.begin() + 6);
         for (size_t i = 4; i < all.size(); ++i) all[i].value.value += 1000;
       }),
       10, "10 no_samples breaks=1 coverage=0.7"},
      {"two intervals", samples([](auto& all) { all.erase(all.begin() + 5); }),
       10, "10"},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    EXPECT_EQ(ToText(Evaluate(kBulkCount, Over::kFormula, test.samples,
                              absl::Seconds(test.window))),
              test.expected);
  }
}

TEST(Window, FrequencyChangeCountsTimeNotTicks) {
  // From the second piece on, the clock ticks twice as fast: 10 in one second,
  // then 20 in two. Counters of time grow by a quarter of the ticks.
  const auto samples = [](bool of_time) {
    std::vector<RawSample> all;
    int64_t stamp = 0;
    uint64_t value = 0;
    for (int i = 0; i <= 4; ++i) {
      const int64_t freq = i < 2 ? kFreq : 2 * kFreq;
      stamp += freq;
      value += of_time ? static_cast<uint64_t>(freq / 4) : 10;
      all.push_back(
          SampleAt(i, U64(value), U32(static_cast<uint32_t>(10 * i))));
      all.back().clocks.perf_time_stamp = stamp;
      all.back().clocks.perf_freq = freq;
      all.back().multi = U32(1);
    }
    return all;
  };
  const struct {
    const char* name;
    uint32_t type;
    bool of_time;
    double expected;
  } kCases[] = {
      {"BULK_COUNT", kBulkCount, false, 10},
      {"TIMER", 0x20410500, true, 25},
      {"TIMER_INV", 0x21410500, true, 75},
      {"QUEUELEN", 0x00450500, true, 0.25},
      {"MULTI_TIMER", 0x22410500, false, 1000},
      {"MULTI_TIMER_INV", 0x23410500, true, 75},
      {"AVERAGE_TIMER", 0x30020400, true, 0.025},
      {"100NSEC_TIMER", kTimer100Ns, false, 100 * 1e-6},
      {"AVERAGE_BULK", kAverageBulk, false, 1},
      {"DELTA", 0x00400500, false, 30},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(ToText(Evaluate(test.type, Over::kFormula, samples(test.of_time),
                              absl::Seconds(4))),
              absl::StrCat(test.expected, " clock_step breaks=1 coverage=0.75"))
        << test.name;
  }
}

TEST(Window, ReportsTheLastBreakWithoutASoundPiece) {
  EXPECT_EQ(ToText(Evaluate(kBulkCount, Over::kFormula,
                            {SampleAt(0, U64(5)), SampleAt(1, {}),
                             SampleAt(2, U64(5)), SampleAt(3, U64(4))},
                            absl::Seconds(3))),
            "negative_value breaks=3 coverage=0");
  EXPECT_EQ(ToText(Evaluate(kBulkCount, Over::kFormula, {}, absl::Seconds(3))),
            "gap no_samples coverage=0");
  EXPECT_EQ(ToText(Evaluate(kGauge, Over::kFormula, {}, absl::Seconds(3))),
            "gap no_samples coverage=0");
}

TEST(Window, CoverageIsThatOfSoundPieces) {
  // Samples begin in the middle of the window.
  EXPECT_EQ(ToText(Evaluate(kBulkCount, Over::kFormula,
                            {SampleAt(5, U64(5)), SampleAt(6, U64(8)),
                             SampleAt(7, U64(11))},
                            absl::Seconds(8))),
            "3 coverage=0.25");
  // The first piece begins before the window.
  EXPECT_EQ(ToText(Evaluate(kBulkCount, Over::kFormula,
                            {SampleAt(0, U64(5)), SampleAt(1.5, U64(8))},
                            absl::Seconds(1))),
            "2");
}

TEST(Window, IsCoveredIfTheNextPieceBeganInIt) {
  const auto evaluate = [](std::vector<RawSample> samples) {
    return ToText(
        Evaluate(kBulkCount, Over::kFormula, samples, absl::Seconds(3)));
  };
  // The tick at 3 s was slightly late, and belongs to the next window.
  EXPECT_EQ(evaluate({SampleAt(0, U64(0)), SampleAt(1, U64(300)),
                      SampleAt(2.01, U64(603))}),
            "300");
  // A missing start is not tolerated.
  EXPECT_EQ(evaluate({SampleAt(0.99, U64(0)), SampleAt(2, U64(303)),
                      SampleAt(3, U64(603))}),
            "300 coverage=0.67");
  // A whole piece is missing.
  EXPECT_EQ(evaluate({SampleAt(0, U64(0)), SampleAt(1, U64(300)),
                      SampleAt(2, U64(600))}),
            "300 coverage=0.667");
  // A break is not tolerated, however short.
  EXPECT_EQ(evaluate({SampleAt(0, U64(0)), SampleAt(2.5, U64(10)),
                      SampleAt(2.8, U64(9))}),
            "4 reset breaks=1 coverage=0.833");
}

TEST(Window, CombinesValuesOfPiecesAsRequested) {
  const std::vector<RawSample> samples = {
      SampleAt(0, U64(0)), SampleAt(1, U64(20)), SampleAt(3, U64(140)),
      SampleAt(4, U64(150))};  // 20, 60 for two seconds, 10
  const struct {
    Over over;
    double expected;
  } kCases[] = {{Over::kFormula, 37.5}, {Over::kAverage, 30},
                {Over::kMinimum, 10},   {Over::kMaximum, 60},
                {Over::kLast, 10},      {Over::kSum, 90}};
  for (const auto& test : kCases) {
    EXPECT_EQ(Evaluate(kBulkCount, test.over, samples, absl::Seconds(4)).result,
              CalculatedValue::Of(test.expected));
  }
}

TEST(Window, CombinesGaugesAsRequestedOrByAverage) {
  const std::vector<RawSample> samples = {
      SampleAt(1, U64(20)), SampleAt(2, U64(60)), SampleAt(3, U64(10))};
  const struct {
    Over over;
    double expected;
  } kCases[] = {{Over::kFormula, 30}, {Over::kAverage, 30},
                {Over::kMinimum, 10}, {Over::kMaximum, 60},
                {Over::kLast, 10},    {Over::kSum, 90}};
  for (const auto& test : kCases) {
    EXPECT_EQ(ToText(Evaluate(kGauge, test.over, samples, absl::Seconds(9))),
              absl::StrCat(test.expected));
  }
}

TEST(Window, HandlesNegativeMinimumAndMaximum) {
  // Inverse timers go below 0.
  const std::vector<RawSample> samples = {SampleAt(0, U64(0)),
                                          SampleAt(1, U64(11'000'000)),
                                          SampleAt(2, U64(23'000'000))};
  constexpr uint32_t kInverse = 0x21510500;
  EXPECT_EQ(
      ToText(Evaluate(kInverse, Over::kMaximum, samples, absl::Seconds(2))),
      "-10");
  EXPECT_EQ(
      ToText(Evaluate(kInverse, Over::kMinimum, samples, absl::Seconds(2))),
      "-20");
}

TEST(Window, CountsGaugeSamplesWithoutAValue) {
  EXPECT_EQ(ToText(Evaluate(
                kGauge, Over::kFormula,
                {SampleAt(1, U64(20)), SampleAt(2, {}), SampleAt(3, U64(40))},
                absl::Seconds(3))),
            "30 no_value breaks=1");
  EXPECT_EQ(ToText(Evaluate(kGauge, Over::kFormula, {SampleAt(2, {})},
                            absl::Seconds(3))),
            "gap no_value breaks=1 coverage=0");
}

// The value of a gauge may fall, and so may the time that an uptime refers to.
TEST(Window, GaugesHaveNoResets) {
  EXPECT_EQ(ToText(Evaluate(kGauge, Over::kLast,
                            {SampleAt(1, U64(20)), SampleAt(2, U64(5))},
                            absl::Seconds(3))),
            "5");
}

TEST(Window, UptimeIsTheNewestValue) {
  std::vector<RawSample> samples;
  for (int i = 1; i <= 3; ++i) {
    samples.push_back(SampleAt(i, U64(100), U64(100 + 10 * i)));
    samples.back().frequency = U64(10);
  }
  EXPECT_EQ(
      ToText(Evaluate(kElapsed, Over::kFormula, samples, absl::Seconds(3))),
      "3");
  EXPECT_EQ(
      ToText(Evaluate(kElapsed, Over::kAverage, samples, absl::Seconds(3))),
      "2");
  EXPECT_EQ(
      ToText(Evaluate(kElapsed, Over::kMinimum, samples, absl::Seconds(3))),
      "1");
}

TEST(Window, CountsPiecesWithAnUnchangedBase) {
  const std::vector<RawSample> idle_inside = {
      SampleAt(0, U64(0), U32(0)), SampleAt(1, U64(10), U32(5)),
      SampleAt(2, U64(10), U32(5)), SampleAt(3, U64(40), U32(10))};
  EXPECT_EQ(ToText(Evaluate(kAverageBulk, Over::kFormula, idle_inside,
                            absl::Seconds(3))),
            "4");
  // Alone, the piece has no value that could be compared.
  EXPECT_EQ(ToText(Evaluate(kAverageBulk, Over::kMinimum, idle_inside,
                            absl::Seconds(3))),
            "2 no_value breaks=1 coverage=0.667");
  const std::vector<RawSample> idle = {SampleAt(0, U64(1), U32(5)),
                                       SampleAt(1, U64(1), U32(5)),
                                       SampleAt(2, U64(1), U32(5))};
  EXPECT_EQ(
      ToText(Evaluate(kAverageBulk, Over::kFormula, idle, absl::Seconds(2))),
      "zero_denominator");
  EXPECT_EQ(
      ToText(Evaluate(kAverageBulk, Over::kMaximum, idle, absl::Seconds(2))),
      "zero_denominator breaks=2 coverage=0");
}

// The pieces between samples without a value count as breaks, but real breaks
// are the cause.
TEST(Window, CountsPiecesWithAnUnchangedBaseInSummaries) {
  const CounterFormula formula = FormulaOfType(kAverageBulk);
  const std::vector<RawSample> samples = {
      SampleAt(0, U64(0), U64(0)), SampleAt(1, U64(10), U64(5)),
      SampleAt(2, U64(10), U64(5)), SampleAt(3, U64(40), U64(10)),
      SampleAt(4, U64(30), U64(10))};
  // Returns the smallest value of the first pieces.
  const auto smallest = [&](size_t pieces) {
    Summary summary;
    for (size_t i = 1; i <= pieces; ++i) {
      summary.AddPiece(
          formula, MakePiece(formula, samples[i - 1], samples[i], kInterval));
    }
    WindowAccumulator window;
    window.AddSummary(formula, Over::kMinimum, summary, samples[pieces]);
    const absl::Duration length = kInterval * static_cast<int64_t>(pieces);
    return ToText(window.Finish(formula, Over::kMinimum,
                                testing::kStart + length, length));
  };
  EXPECT_EQ(smallest(3), "2 no_value breaks=1 coverage=0.667");
  EXPECT_EQ(smallest(4), "2 reset breaks=2 coverage=0.5");
}

// A thinned minute has the frequency of its last sample only.
TEST(Window, CountsSummariesOfUptimesWithoutAFrequency) {
  const CounterFormula formula = FormulaOfType(kElapsed);
  const auto uptime_at = [](int seconds) {
    RawSample sample =
        SampleAt(seconds, U64(0), U64(static_cast<uint64_t>(kFreq * seconds)));
    sample.frequency = U64(static_cast<uint64_t>(kFreq));
    return sample;
  };
  Summary known;
  known.AddSample(formula, uptime_at(3));
  Summary unknown;
  unknown.AddSample(formula, uptime_at(7));
  unknown.AddSample(formula, uptime_at(8));
  unknown.growth.perf_freq = 0;
  WindowAccumulator window;
  window.AddSummary(formula, Over::kAverage, known, uptime_at(3));
  window.AddSummary(formula, Over::kAverage, unknown, uptime_at(8));
  EXPECT_EQ(ToText(window.Finish(formula, Over::kAverage, testing::At(10),
                                 absl::Seconds(10))),
            "3 no_value breaks=2");
}

TEST(IsWeighted, ExcludesDeltasUptimesAndSelectedSamples) {
  for (const uint32_t type : {kBulkCount, kAverageBulk, kGauge}) {
    EXPECT_TRUE(IsWeighted(FormulaOfType(type), Over::kFormula));
    EXPECT_TRUE(IsWeighted(FormulaOfType(type), Over::kAverage));
    EXPECT_FALSE(IsWeighted(FormulaOfType(type), Over::kMaximum));
    EXPECT_FALSE(IsWeighted(FormulaOfType(type), Over::kSum));
  }
  EXPECT_FALSE(IsWeighted(FormulaOfType(kElapsed), Over::kFormula));
  EXPECT_FALSE(
      IsWeighted(FormulaOfType(perflib::kPerfCounterDelta), Over::kFormula));
}

TEST(Window, AFallOfTheBaseIsAReset) {
  EXPECT_EQ(ToText(Evaluate(kAverageBulk, Over::kFormula,
                            {SampleAt(0, U64(5000), U64(100)),
                             SampleAt(1, U64(5050), U64(0)),
                             SampleAt(2, U64(5060), U64(10))},
                            absl::Seconds(2))),
            "1 reset breaks=1 coverage=0.5");
}

// 1.5 s are missing at the end: less than the piece of 2 s.
TEST(Window, IsCoveredByPiecesOfWhichAnyIsLonger) {
  const CounterFormula formula = FormulaOfType(kBulkCount);
  WindowAccumulator window;
  int64_t from = 0;
  for (const int64_t length : {2, 1}) {
    window.AddPieces(
        formula,
        {.growth = {.value = static_cast<uint64_t>(3 * length),
                    .denominator = static_cast<uint64_t>(length * kFreq),
                    .perf_freq = static_cast<uint64_t>(kFreq)},
         .count = 1,
         .start = testing::kStart + absl::Seconds(from),
         .length = length * 1'000'000'000,
         .longest = length * 1'000'000'000});
    from += length;
  }
  EXPECT_EQ(ToText(window.Finish(formula, Over::kFormula, testing::At(4.5),
                                 absl::Seconds(4.5))),
            "3");
}

TEST(Window, SumsABaseThatWrapsAtFourBytes) {
  // Half a million per second: the base wraps between the second and third
  // sample.
  EXPECT_EQ(
      ToText(Evaluate(kAverageBulk, Over::kFormula,
                      {SampleAt(0, U64(0), U32(0xFFFF'FFFF - 600'000)),
                       SampleAt(1, U64(4'000'000), U32(0xFFFF'FFFF - 100'000)),
                       SampleAt(2, U64(8'000'000), U32(399'999))},
                      absl::Seconds(2))),
      "8");
}

TEST(Window, UsesTheComponentsOfTheNewestSoundPiece) {
  std::vector<RawSample> samples = {SampleAt(0, U64(0)), SampleAt(1, U64(40)),
                                    SampleAt(2, U64(80)), SampleAt(3, U64(0))};
  samples[1].multi = U32(2);
  samples[2].multi = U32(4);
  samples[3].multi = U32(8);
  // 100 * 80 / (2 s * 4), in units of 100 ns.
  const CalculatedValue result =
      Evaluate(0x22510500, Over::kFormula, samples, absl::Seconds(3)).result;
  EXPECT_EQ(result.value, Quotient(8000, 2 * 10'000'000 * 4));
  EXPECT_EQ(result.cause, GapCause::kReset);
}

// Returns the value of a window of samples that belong to summaries of these
// sizes; 0: a sample of its own.
CalculatedValue OfSummaries(uint32_t type, Over over,
                            const std::vector<RawSample>& samples,
                            const std::vector<size_t>& sizes) {
  const CounterFormula formula = FormulaOfType(type);
  WindowAccumulator accumulator;
  auto next = samples.begin();
  for (const size_t size : sizes) {
    if (size == 0) {
      accumulator.AddSample(formula, over, *next++);
      continue;
    }
    Summary summary;
    for (size_t i = 0; i < size; ++i) summary.AddSample(formula, *next++);
    accumulator.AddSummary(formula, over, summary, *std::prev(next));
  }
  EXPECT_TRUE(next == samples.end());
  return accumulator
      .Finish(formula, over, testing::kStart + kInterval, kInterval)
      .result;
}

TEST(Window, SamplesHaveTheSameSumAndMeanInSummaries) {
  constexpr uint32_t kRawFraction = 0x20020400;
  std::vector<RawSample> samples;
  for (int i = 0; i < 7; ++i) {
    const auto n = static_cast<uint64_t>(i);
    // Sums of more than 64 bits; quotients that no double holds.
    samples.push_back(SampleAt(i, U64((uint64_t{1} << 62) + 3 * n * n),
                               U64((uint64_t{1} << 63) + 7 * n)));
    samples.back().frequency = U64(n < 4 ? 10'000'000 : 3'579'545);
  }
  for (const uint32_t type : {kGauge, kElapsed, kRawFraction}) {
    for (const Over over : {Over::kAverage, Over::kSum}) {
      const CalculatedValue alone =
          OfSummaries(type, over, samples, {0, 0, 0, 0, 0, 0, 0});
      EXPECT_TRUE(alone.ok());
      EXPECT_EQ(OfSummaries(type, over, samples, {7}), alone);
      EXPECT_EQ(OfSummaries(type, over, samples, {1, 2, 1, 3}), alone);
      EXPECT_EQ(OfSummaries(type, over, samples, {0, 5, 0}), alone);
    }
  }
}

TEST(Window, MeanOfGaugesIsTheNearestDouble) {
  constexpr uint64_t kBase = (uint64_t{1} << 53) + 1;  // not a double
  EXPECT_EQ(OfSummaries(kGauge, Over::kFormula,
                        {SampleAt(1, U64(kBase)), SampleAt(2, U64(kBase)),
                         SampleAt(3, U64(kBase + 2))},
                        {2, 1})
                .value,
            Quotient(3 * absl::uint128(kBase) + 2, 3));
}

TEST(Window, LengthsOfPiecesAddUpAtAnyFrequency) {
  const auto clocks_at = [](int64_t tick) {
    perflib::Clocks clocks = ClocksAt(0);
    clocks.perf_freq = 3'579'545;
    clocks.perf_time_stamp = 1'000'003 * tick;
    return clocks;
  };
  absl::Duration sum;
  for (int64_t tick = 0; tick < 1000; ++tick) {
    const absl::Duration length =
        ClockLength(clocks_at(tick), clocks_at(tick + 1));
    EXPECT_EQ(length % absl::Nanoseconds(1), absl::ZeroDuration());
    sum += length;
  }
  EXPECT_EQ(sum, ClockLength(clocks_at(0), clocks_at(1000)));
  EXPECT_EQ(sum / absl::Nanoseconds(1), 1'000'003'000'000'000'000 / 3'579'545);
}

}  // namespace
}  // namespace fleetperf
